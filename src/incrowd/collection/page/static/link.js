"use strict"
// The digest and the invitation leave the address bar before anything else is loaded. Browsers send nothing behind
// the # of a link, and no log holds it.
var incrowdLink = location.hash.slice(1)
history.replaceState(null, "", location.pathname + location.search)
