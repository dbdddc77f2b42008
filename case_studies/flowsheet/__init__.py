"""Models with many equalities: flowsheets, networks, chains, discretised states."""
