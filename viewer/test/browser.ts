/** All tests of the page in a real browser. The setup must be imported first. */

import "./browser-setup";
import "./browser-points";
import "./browser-maps";
import "./browser-pages";
import "./browser-reliability";
import "./browser-selection";
import "./browser-hostile";
