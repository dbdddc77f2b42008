"""What several case studies need: command lines, records of seeds, comparisons, problem suites."""
