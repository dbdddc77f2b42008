"""Which equations determine which variables."""
