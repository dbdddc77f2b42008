"""Discrete design: problems with integers, lists and categories, beside other methods."""
