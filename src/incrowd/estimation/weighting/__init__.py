"""Tables weighted to known margins, or to the people who answered."""
