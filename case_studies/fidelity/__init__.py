"""A cheap and a dear simulator: what both cost to a target, beside the dear one alone."""
