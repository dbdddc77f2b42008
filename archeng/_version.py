"""Version of the package, read by the build and shown in results."""

__version__ = "0.1.0"
