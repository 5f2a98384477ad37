"""What the commands of a shuffler are made of: all that needs the extra `collect`, in one place."""

from incrowd.collection.machine import protect
from incrowd.collection.service import listening, log_discreetly, serve
from incrowd.collection.shuffler.app import application
from incrowd.collection.shuffler.checks import check
from incrowd.collection.shuffler.config import load_settings
from incrowd.collection.shuffler.init import Terms, make_bundle
from incrowd.collection.shuffler.invitations import issue, new_invitations
from incrowd.collection.shuffler.setup import install, open_store
from incrowd.collection.wire.addresses import Link, short
from incrowd.collection.wire.upload import upload_length

__all__ = [
    "Link",
    "Terms",
    "application",
    "check",
    "install",
    "issue",
    "listening",
    "load_settings",
    "log_discreetly",
    "make_bundle",
    "new_invitations",
    "open_store",
    "protect",
    "serve",
    "short",
    "upload_length",
]
