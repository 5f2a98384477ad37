"""One person's side of a collection: look at what is promised, send once, withdraw."""

from __future__ import annotations

from incrowd.collection.device.device import Device

__all__ = ["Device"]
