"""The studio: a local web application to design, publish, watch and read surveys."""
