"""The one place that determines what a plan, a file, a release or a round guarantees, and to whom.

Everything that is printed, drawn, or written about a guarantee comes from this room, as codes and
numbers; `incrowd.presentation.guarantee_text` has the sentences. No other room creates a
`Guarantee`.
"""
