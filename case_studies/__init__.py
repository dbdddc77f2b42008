"""Case studies: problems written as archeng models, with their known answers."""
