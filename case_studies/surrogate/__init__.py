"""What the surrogate saves: calls to target with it, beside published figures and without."""
