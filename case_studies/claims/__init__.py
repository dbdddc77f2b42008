"""Whether a run that says it has converged is at an optimum: claims against IPOPT's answers."""
