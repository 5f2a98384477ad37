"""What the papers print, section by section, beside what is true: one module a section."""
