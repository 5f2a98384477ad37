"""Privacy accounting by itself: channels, laws, analyses, composition, calibration."""
