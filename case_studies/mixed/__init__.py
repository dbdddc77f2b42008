"""Mixed constraints: CEC 2006 problems, half of the constraints known to the simulator only."""
