package main

import (
	"fmt"
	"image/color"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"

	"fuzzsafe/algorithms"
)

// plot draws the coverage, the cactus and one scatter plot for each solver beside the
// baseline, which is on the x-axis.
func (x *comparison) plot(dir string, rows []row) error {
	limit := 0.0 // that a run has reached, seconds
	if slices.ContainsFunc(x.cells, func(c cell) bool { return c.Status == cellTime }) {
		limit = x.timeLimit.Seconds()
	}
	figures := map[string]*figure{
		"coverage": coveragePlot(rows, x.solvers, limit, x.flags.Bool("fresh")),
		"cactus":   cactusPlot(rows, x.solvers, limit),
	}
	for _, other := range x.solvers {
		if base := x.baseline; other != base {
			figures["scatter-"+base+"-"+other] = scatterPlot(duels(rows, base, other), base, other, limit)
		}
	}
	for name, f := range figures {
		if err := f.save(filepath.Join(dir, name)); err != nil {
			return &badFile{err}
		}
	}
	return nil
}

// figure is a plot with its legend beside it, where it covers no data.
type figure struct {
	*plot.Plot
	legend plot.Legend
	width  vg.Length // without the legend
	height vg.Length
	// logX and logY say which axes are logarithmic: the logarithm is plotted on a linear
	// axis, for of a plot.LogScale the library misplaces the label, and leaves room for it.
	logX, logY bool
}

func newFigure(width, height vg.Length, xLabel, yLabel string) *figure {
	f := &figure{Plot: plot.New(), legend: plot.NewLegend(), width: width, height: height}
	f.BackgroundColor = nil // of the whole canvas, see save
	f.X.Label.Text, f.Y.Label.Text = xLabel, yLabel
	for _, style := range []*text.Style{&f.X.Label.TextStyle, &f.Y.Label.TextStyle, &f.X.Tick.Label, &f.Y.Tick.Label, &f.legend.TextStyle} {
		style.Font.Variant = "Sans"
		style.Font.Size = 9
	}
	f.X.Label.Padding, f.Y.Label.Padding = 4, 4
	f.X.Padding, f.Y.Padding = 0, 0
	f.legend.Top, f.legend.Left = true, true
	f.legend.ThumbnailWidth, f.legend.Padding = 30, 4
	return f
}

// grid draws lines at the labelled ticks, below all that is added later.
func (f *figure) grid() {
	g := plotter.NewGrid()
	g.Vertical.Color, g.Horizontal.Color = color.Gray{225}, color.Gray{225}
	f.Add(g)
}

// save writes NAME.svg and NAME.png.
func (f *figure) save(name string) error {
	const gap = vg.Length(10)
	beside := f.legend.Rectangle(draw.Canvas{}).Size().X + 2*gap
	width := f.width + beside
	image := vgimg.NewWith(vgimg.UseWH(width, f.height), vgimg.UseDPI(200))
	for extension, canvas := range map[string]interface {
		vg.CanvasSizer
		io.WriterTo
	}{".svg": vgsvg.New(width, f.height), ".png": vgimg.PngCanvas{Canvas: image}} {
		c := draw.New(canvas)
		c.SetColor(color.White)
		c.Fill(c.Rectangle.Path())
		f.Draw(draw.Crop(c, gap/2, -beside, gap/2, -gap))
		f.legend.Draw(draw.Crop(c, f.width+gap, 0, 0, -gap))
		file, err := os.Create(name + extension)
		if err != nil {
			return err
		}
		_, err = canvas.WriteTo(file)
		if closed := file.Close(); err == nil {
			err = closed
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// look is how a solver, or a radius, is drawn: colour, dashes and marker all differ, for
// readers who do not see some colours and for print without any.
type look struct {
	line draw.LineStyle
	mark draw.GlyphStyle
}

// lookOf returns the look number k. The colours are those of Okabe and Ito, "Color
// Universal Design" (2008), without yellow.
func lookOf(k int) look {
	colours := []color.RGBA{{0, 114, 178, 255}, {213, 94, 0, 255}, {0, 158, 115, 255}, {0, 0, 0, 255},
		{204, 121, 167, 255}, {86, 180, 233, 255}, {230, 159, 0, 255}}
	dashes := [][]vg.Length{nil, {6, 2}, {2, 2}, {8, 2, 2, 2}, {12, 3}, {4, 4}, {8, 2, 2, 2, 2, 2}, {1, 3}}
	marks := []draw.GlyphDrawer{draw.RingGlyph{}, draw.SquareGlyph{}, draw.TriangleGlyph{}, draw.CrossGlyph{}, draw.PlusGlyph{},
		draw.CircleGlyph{}, draw.BoxGlyph{}, draw.PyramidGlyph{}}
	c := colours[k%len(colours)]
	return look{
		draw.LineStyle{Color: c, Width: 1.4, Dashes: dashes[k%len(dashes)]},
		draw.GlyphStyle{Color: c, Radius: 3.2, Shape: marks[k%len(marks)]},
	}
}

// line adds a line; it needs not be in the legend.
func (f *figure) line(style draw.LineStyle, steps bool, points ...curvePoint) *plotter.Line {
	l := &plotter.Line{XYs: f.xys(points), LineStyle: style}
	if steps {
		l.StepStyle = plotter.PostStep
	}
	f.Add(l)
	return l
}

// marks adds markers.
func (f *figure) marks(style draw.GlyphStyle, points ...curvePoint) *plotter.Scatter {
	s := &plotter.Scatter{XYs: f.xys(points), GlyphStyle: style}
	f.Add(s)
	return s
}

func (f *figure) xys(points []curvePoint) plotter.XYs {
	list := make(plotter.XYs, len(points))
	for i, p := range points {
		list[i] = plotter.XY{X: p.x, Y: p.y}
		if f.logX {
			list[i].X = math.Log10(p.x)
		}
		if f.logY {
			list[i].Y = math.Log10(p.y)
		}
	}
	return list
}

// reference is the style of lines that are no data.
func reference(dashes ...vg.Length) draw.LineStyle {
	return draw.LineStyle{Color: color.Gray{120}, Width: 0.8, Dashes: dashes}
}

// timeAxis makes an axis one of times from least to most, logarithmic.
func timeAxis(a *plot.Axis, logarithmic *bool, least, most float64) {
	*logarithmic = true
	a.Min, a.Max = math.Log10(least), math.Log10(most)
	ticks := timeTicks(least, most)
	for i := range ticks {
		ticks[i].Value = math.Log10(ticks[i].Value)
	}
	a.Tick.Marker = plot.ConstantTicks(ticks)
}

// timeTicks labels the powers of ten, and 2 and 5 times them if there are few.
func timeTicks(least, most float64) []plot.Tick {
	few := most/least < 100
	var ticks []plot.Tick
	for e := int(math.Floor(math.Log10(least))); e <= int(math.Ceil(math.Log10(most))); e++ {
		for k := range 9 {
			t := plot.Tick{Value: float64(k+1) * math.Pow10(e)}
			if k == 0 || few && (k == 1 || k == 4) {
				// By way of text, for 3·10⁻⁴ is not what is computed.
				t.Label = strconv.FormatFloat(t.Value, 'f', max(-e, 0), 64)
			}
			if t.Value >= least && t.Value <= most {
				ticks = append(ticks, t)
			}
		}
	}
	return ticks
}

// timeRange returns a range for all times, with some air around them.
func timeRange(times []float64) (least, most float64) {
	least, most = math.Inf(1), math.Inf(-1)
	for _, t := range times {
		t = visible(t)
		least, most = min(least, t), max(most, t)
	}
	if least > most {
		return 0.001, 1
	}
	air := max(math.Pow(most/least, 0.04), 1.25)
	return least / air, most * air
}

// visible returns a time that a logarithmic axis can show: at least 1 µs.
func visible(seconds float64) float64 { return max(seconds, 1e-6) }

// coveragePlot shows which share of all states each solver has decided within a time.
// limit is the time limit if it was reached, else 0.
func coveragePlot(rows []row, solvers []string, limit float64, fresh bool) *figure {
	label := "time since the start of the run (s)"
	if fresh {
		label, limit = "time for the state (s)", 0 // the limit is on all states of a run
	}
	f := newFigure(12*vg.Centimeter, 8*vg.Centimeter, label, "states decided (%)")
	f.grid()
	var times []float64
	for _, s := range solvers {
		for _, p := range coverage(rows, s) {
			times = append(times, p.x)
		}
	}
	if limit > 0 {
		times = append(times, limit)
	}
	least, most := timeRange(times)
	timeAxis(&f.X, &f.logX, least, most)
	f.Y.Min, f.Y.Max = 0, 1
	f.Y.Tick.Marker = plot.TickerFunc(percentTicks)
	for k, s := range solvers {
		style := lookOf(k)
		style.line.Width = 2.2 - 1.2*vg.Length(k)/vg.Length(len(solvers)) // equal curves are seen below each other
		curve := thin(coverage(rows, s), least, most)
		shown := append([]curvePoint{{least, 0}}, curve...)
		shown = append(shown, curvePoint{most, shown[len(shown)-1].y})
		line := f.line(style.line, true, shown...)
		marks := f.marks(style.mark, samples(shown, least, most, k, len(solvers))...)
		f.legend.Add(s, line, marks)
	}
	if limit > 0 {
		f.legend.Add("time limit", f.line(reference(4, 3), false, curvePoint{limit, 0}, curvePoint{limit, 1}))
	}
	return f
}

func percentTicks(_, _ float64) []plot.Tick {
	var ticks []plot.Tick
	for k := range 11 {
		t := plot.Tick{Value: float64(k) / 10}
		if k%2 == 0 {
			t.Label = strconv.Itoa(10 * k)
		}
		ticks = append(ticks, t)
	}
	return ticks
}

// thin drops points that share a thousandth of a logarithmic axis with a later one.
func thin(curve []curvePoint, least, most float64) []curvePoint {
	column := func(i int) int { return int(1000 * math.Log(visible(curve[i].x)/least) / math.Log(most/least)) }
	var kept []curvePoint
	for i, p := range curve {
		if i == len(curve)-1 || column(i) != column(i+1) {
			kept = append(kept, curvePoint{visible(p.x), p.y})
		}
	}
	return kept
}

// samples returns points on a step curve to put markers on, at places of the logarithmic
// axis that differ between the n curves.
func samples(curve []curvePoint, least, most float64, k, n int) []curvePoint {
	const count = 7
	var list []curvePoint
	for j := range count {
		at := least * math.Pow(most/least, (float64(j)+(float64(k)+0.5)/float64(n))/count)
		y := 0.0
		for _, p := range curve {
			if p.x <= at {
				y = p.y
			}
		}
		if y > 0 {
			list = append(list, curvePoint{at, y})
		}
	}
	return list
}

// cactusPlot shows within which time each solver decides how many rows, each taken alone.
func cactusPlot(rows []row, solvers []string, limit float64) *figure {
	f := newFigure(12*vg.Centimeter, 8*vg.Centimeter, "rows (instance and radius) fully decided", "time for the row (s)")
	f.grid()
	var times []float64
	for _, s := range solvers {
		for _, p := range cactus(rows, s) {
			times = append(times, p.y)
		}
	}
	if limit > 0 {
		times = append(times, limit)
	}
	least, most := timeRange(times)
	timeAxis(&f.Y, &f.logY, least, most)
	all := float64(len(rows))
	f.X.Min, f.X.Max = 0, all*1.03
	f.X.Tick.Marker = plot.TickerFunc(countTicks)
	for k, s := range solvers {
		style := lookOf(k)
		curve := cactus(rows, s)
		for i := range curve {
			curve[i].y = visible(curve[i].y)
		}
		every := max(len(curve)/25, 1) // markers would hide longer lines
		var marked []curvePoint
		for i := (len(curve) - 1) % every; i >= 0 && i < len(curve); i += every {
			marked = append(marked, curve[i])
		}
		f.legend.Add(fmt.Sprintf("%s (%d)", s, len(curve)), f.line(style.line, false, curve...), f.marks(style.mark, marked...))
	}
	f.legend.Add(fmt.Sprintf("all rows (%d)", len(rows)), f.line(reference(1, 2), false, curvePoint{all, least}, curvePoint{all, most}))
	if limit > 0 {
		f.legend.Add("time limit", f.line(reference(4, 3), false, curvePoint{0, limit}, curvePoint{all * 1.03, limit}))
	}
	return f
}

// countTicks labels some six whole numbers.
func countTicks(least, most float64) []plot.Tick {
	step := 1
	for _, factor := range []int{2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000} {
		if most > float64(8*step) {
			step = factor
		}
	}
	var ticks []plot.Tick
	for n := 0; float64(n) <= most; n += step {
		if float64(n) >= least {
			ticks = append(ticks, plot.Tick{Value: float64(n), Label: strconv.Itoa(n)})
		}
	}
	return ticks
}

// scatterPlot compares two solvers row by row. A row that a solver did not decide is on
// the border, behind all times.
func scatterPlot(points []duel, x, y string, limit float64) *figure {
	f := newFigure(9*vg.Centimeter, 9*vg.Centimeter, x+": time (s)", y+": time (s)")
	f.grid()
	var times []float64
	for _, p := range points {
		for _, t := range []float64{p.x, p.y} {
			if !math.IsInf(t, 1) {
				times = append(times, t)
			}
		}
	}
	if limit > 0 {
		times = append(times, limit)
	}
	least, most := timeRange(times)
	beyond := slices.ContainsFunc(points, func(p duel) bool { return math.IsInf(max(p.x, p.y), 1) })
	border, end := most, most
	if beyond {
		border, end = most*math.Pow(most/least, 0.1), most*math.Pow(most/least, 0.14)
	}
	timeAxis(&f.X, &f.logX, least, end)
	timeAxis(&f.Y, &f.logY, least, end)
	if beyond {
		limitTick := plot.Tick{Value: math.Log10(border), Label: "limit"}
		for _, a := range []*plot.Axis{&f.X, &f.Y} {
			ticks := slices.DeleteFunc(a.Tick.Marker.Ticks(a.Min, a.Max), func(t plot.Tick) bool { return t.Value > math.Log10(most) })
			a.Tick.Marker = plot.ConstantTicks(append(ticks, limitTick))
		}
	}
	f.legend.Add("equal", f.line(reference(), false, curvePoint{least, least}, curvePoint{most, most}))
	if most/least > 10 {
		ten := f.line(reference(1, 2), false, curvePoint{least, 10 * least}, curvePoint{most / 10, most})
		f.line(reference(1, 2), false, curvePoint{10 * least, least}, curvePoint{most, most / 10})
		f.legend.Add("factor 10", ten)
	}
	if beyond {
		edge := f.line(reference(4, 3), false, curvePoint{border, least}, curvePoint{border, border}, curvePoint{least, border})
		f.legend.Add("not decided", edge)
	}
	groups := map[algorithms.Radius][]curvePoint{}
	var radii []algorithms.Radius
	neither := 0
	for _, p := range points {
		if groups[p.radius] == nil {
			radii = append(radii, p.radius)
		}
		if math.IsInf(min(p.x, p.y), 1) {
			neither++
		}
		groups[p.radius] = append(groups[p.radius], curvePoint{min(visible(p.x), border), min(visible(p.y), border)})
	}
	for k, r := range radii {
		name := "radius " + r.String()
		if r == algorithms.Infinite {
			name = "radius ∞"
		}
		f.legend.Add(name, f.marks(lookOf(k).mark, groups[r]...))
	}
	if neither > 0 {
		f.legend.Add(fmt.Sprintf("neither decided: %d", neither))
	}
	return f
}

// strategyPlot shows how many runs of each instance are unsafe, with a bar for each tactic,
// in the order of the legend. A tactic that a limit ended has what it found before, and a note.
func (x *tournament) strategyPlot() *figure {
	const bar, gap = vg.Length(4.5), vg.Length(6)
	n := vg.Length(len(x.tactics))
	height := max(vg.Length(len(x.table))*(n*bar+gap)+50, n*15+20) // of the bars, of the legend
	f := newFigure(14*vg.Centimeter, height, "unsafe runs", "")
	g := plotter.NewGrid()
	g.Vertical.Color, g.Horizontal.Color = color.Gray{225}, nil
	f.Add(g)
	names := make([]string, len(x.table)) // from below
	for i := range x.table {
		names[len(x.table)-1-i] = x.table[i][0].Instance
	}
	most := 1
	var above []plot.Plotter // of all bars
	for k, t := range x.tactics {
		offset := ((n-1)/2 - vg.Length(k)) * bar
		values, notes := make(plotter.Values, len(x.table)), &plotter.Labels{Offset: vg.Point{X: 2, Y: offset + bar/8}}
		for i, row := range x.table {
			c, at := &row[k], len(x.table)-1-i
			values[at] = float64(c.Unsafe)
			most = max(most, c.Runs)
			note := ""
			if !c.Complete {
				note = fmt.Sprintf("%s after %d runs", c.Status.mark(), c.Runs)
			} else if c.Unsafe == 0 {
				note = "0"
			}
			style := f.X.Tick.Label
			style.Font.Size, style.XAlign, style.YAlign = bar, text.XLeft, text.YCenter
			notes.XYs, notes.Labels = append(notes.XYs, plotter.XY{X: values[at], Y: float64(at)}), append(notes.Labels, note)
			notes.TextStyle = append(notes.TextStyle, style)
		}
		b := &plotter.BarChart{Values: values, Width: bar, Color: lookOf(k).line.Color, Offset: offset, Horizontal: true}
		f.Add(b)
		f.legend.Add(t.String(), b)
		above = append(above, notes)
	}
	f.Add(above...)
	f.NominalY(names...)
	f.X.Min, f.X.Max, f.Y.Min, f.Y.Max = 0, float64(most), -0.5, float64(len(x.table))-0.5
	f.X.Tick.Marker = plot.TickerFunc(countTicks)
	return f
}
