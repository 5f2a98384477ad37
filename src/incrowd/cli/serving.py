"""What the commands of a shuffler are made of: all that needs the extra `collect`, in one place."""

import uvicorn

from incrowd.collection.impatient import Impatient
from incrowd.collection.shuffler.app import application
from incrowd.collection.shuffler.checks import check, protect
from incrowd.collection.shuffler.config import load_settings
from incrowd.collection.shuffler.init import Terms, make_bundle
from incrowd.collection.shuffler.invitations import issue, new_invitations
from incrowd.collection.shuffler.setup import install, open_store
from incrowd.collection.wire.addresses import Link, short
from incrowd.collection.wire.upload import upload_length

__all__ = [
    "Impatient",
    "Link",
    "Terms",
    "application",
    "check",
    "install",
    "issue",
    "load_settings",
    "make_bundle",
    "new_invitations",
    "open_store",
    "protect",
    "short",
    "upload_length",
    "uvicorn",
]
