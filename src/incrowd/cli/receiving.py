"""What `collector run` is made of: all that needs the extra `collect`, in one place."""

from incrowd.collection.collector.app import application
from incrowd.collection.collector.dashboard import PATH as DASHBOARD
from incrowd.collection.service import listening, log_discreetly, serve
from incrowd.collection.settings import load_collector_settings

__all__ = [
    "DASHBOARD",
    "application",
    "listening",
    "load_collector_settings",
    "log_discreetly",
    "serve",
]
