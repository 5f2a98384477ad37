"""The survey page: static files with which people answer in a browser."""
