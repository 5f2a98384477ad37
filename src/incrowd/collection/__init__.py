"""Anonymous collection: devices, a shuffler that cannot read, a collector that cannot know who."""
