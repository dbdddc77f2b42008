"""Models over designs with discrete variables: proposals, and when they end."""
