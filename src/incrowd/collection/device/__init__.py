"""One person's side of a collection: see the promise, send once, withdraw."""

from __future__ import annotations

from incrowd.collection.device.device import Device

__all__ = ["Device"]
