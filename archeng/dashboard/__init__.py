"""The dashboard: a report that follows a run while it goes on, served on this machine only."""

from archeng.dashboard.live import Live
from archeng.dashboard.server import DashboardServer, serve

__all__ = ["DashboardServer", "Live", "serve"]
