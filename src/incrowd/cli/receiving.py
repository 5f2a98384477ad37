"""What `collector run` is made of: all that needs the extra `collect`, in one place."""

from incrowd.collection.collector.app import application
from incrowd.collection.collector.config import load_settings
from incrowd.collection.collector.dashboard import PATH as DASHBOARD
from incrowd.collection.service import listening, log_discreetly, serve

__all__ = ["DASHBOARD", "application", "listening", "load_settings", "log_discreetly", "serve"]
