/**
 * The part of plotly.js that the dashboard uses. Scatter lines come with the core. No WebGL trace is registered:
 * those build functions at run time, which the content security policy refuses.
 */
import Plotly from 'plotly.js/lib/core'
import bar from 'plotly.js/lib/bar'
import heatmap from 'plotly.js/lib/heatmap'
import treemap from 'plotly.js/lib/treemap'

Plotly.register([bar, heatmap, treemap])

export { Plotly }
