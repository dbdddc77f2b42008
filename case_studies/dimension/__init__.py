"""Calls and time per call from 20 to 1000 variables, beside other packages."""
