"""What the commands of a shuffler are made of: all that needs the extra `collect`, in one place."""

from incrowd.collection.machine import protect
from incrowd.collection.mixer.app import application
from incrowd.collection.mixer.init import Terms, issue, make_bundle, new_invitations
from incrowd.collection.mixer.setup import check, install, open_store
from incrowd.collection.protocol.addresses import Link, short
from incrowd.collection.protocol.upload import upload_length
from incrowd.collection.service import listening, log_discreetly, serve
from incrowd.collection.settings import load_shuffler_settings

__all__ = [
    "Link",
    "Terms",
    "application",
    "check",
    "install",
    "issue",
    "listening",
    "load_shuffler_settings",
    "log_discreetly",
    "make_bundle",
    "new_invitations",
    "open_store",
    "protect",
    "serve",
    "short",
    "upload_length",
]
