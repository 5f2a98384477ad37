"""A survey of interviews for tests of the studio."""

SURVEY = """\
name = "Groups"

[device]
kind = "die"

[aim]
people = 300
share = 0.2

# about an armed group
[[question]]
id = "armed"
type = "yesno"
text = "Did you work with an armed group?"
design = { kind = "forced", yes = "1/6", no = "1/6" }

[[question]]
id = "paid"
type = "choice"
options = ["never", "once", "often"]
design = { kind = "forced", forced = { never = "1/6", once = "1/6", often = "1/6" } }
"""
