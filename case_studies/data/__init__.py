"""Earlier data: calls to target with and without old designs, and a sweep of load cases."""
