"""Anonymous collection: devices, a shuffler that cannot read reports, a collector that cannot
see who sent them."""
