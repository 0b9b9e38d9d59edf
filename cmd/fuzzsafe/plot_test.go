package main

import (
	"encoding/xml"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gonum.org/v1/plot"

	"fuzzsafe/algorithms"
)

func labels(ticks []plot.Tick) string {
	var list []string
	for _, t := range ticks {
		if t.Label != "" {
			list = append(list, t.Label)
		}
	}
	return strings.Join(list, " ")
}

func TestTicks(t *testing.T) {
	for _, c := range []struct {
		least, most float64
		labels      string
		ticks       int
	}{
		{0.00003, 0.2, "0.0001 0.001 0.01 0.1", 7 + 9*3 + 2},
		{0.5, 20, "0.5 1 2 5 10 20", 5 + 9 + 2},
		{0.0009, 0.0021, "0.001 0.002", 3},
		{1, 1000, "1 10 100 1000", 28},
	} {
		ticks := timeTicks(c.least, c.most)
		if labels(ticks) != c.labels || len(ticks) != c.ticks {
			t.Errorf("%g to %g: %d ticks, labels %s, want %d, %s", c.least, c.most, len(ticks), labels(ticks), c.ticks, c.labels)
		}
	}
	for most, want := range map[float64]string{1: "0 1", 8: "0 1 2 3 4 5 6 7 8", 9: "0 2 4 6 8", 100: "0 20 40 60 80 100",
		30000: "0 5000 10000 15000 20000 25000 30000"} {
		if got := labels(countTicks(0, most)); got != want {
			t.Errorf("up to %g: %s, want %s", most, got, want)
		}
	}
}

func TestTimeRange(t *testing.T) {
	for _, c := range []struct {
		times       []float64
		least, most float64
	}{
		{nil, 0.001, 1}, {[]float64{2}, 1.6, 2.5}, {[]float64{0, 10}, 1e-6 / math.Pow(1e7, 0.04), 10 * math.Pow(1e7, 0.04)},
	} {
		if least, most := timeRange(c.times); math.Abs(least/c.least-1) > 1e-9 || math.Abs(most/c.most-1) > 1e-9 {
			t.Errorf("%v: %g to %g, want %g to %g", c.times, least, most, c.least, c.most)
		}
	}
}

// A thinned curve is the curve wherever one can see it.
func TestThin(t *testing.T) {
	var curve []curvePoint
	const n = 100_000
	for i := range n {
		curve = append(curve, curvePoint{1e-5 * math.Pow(1e6, float64(i)/n), float64(i+1) / n})
	}
	got := thin(curve, 1e-6, 100)
	if len(got) < 500 || len(got) > 1001 || got[len(got)-1] != curve[n-1] {
		t.Errorf("%d points, the last is %v", len(got), got[len(got)-1])
	}
	at := func(curve []curvePoint, x float64) (y float64) {
		for _, p := range curve {
			if p.x <= x {
				y = p.y
			}
		}
		return y
	}
	for k := range 50 {
		x := 1e-6 * math.Pow(1e8, float64(k)/50)
		if a, b := at(curve, x), at(got, x); math.Abs(a-b) > 0.002 {
			t.Errorf("at %g: %g, thinned %g", x, a, b)
		}
	}
	if got := thin([]curvePoint{{0, 0.5}, {1, 1}}, 1e-6, 10); fmt.Sprint(got) != "[{1e-06 0.5} {1 1}]" {
		t.Errorf("%v", got)
	}
	// Markers are on the curve, where something is decided.
	marks := samples([]curvePoint{{1, 0}, {10, 0.5}, {100, 0.5}}, 1, 100, 0, 1)
	if len(marks) != 4 { // of seven, at 10^(k+½)·2/7
		t.Errorf("markers %v", marks)
	}
	for _, p := range marks {
		if p.y != 0.5 || p.x < 10 || p.x > 100 {
			t.Errorf("marker %v", p)
		}
	}
}

// plotted returns the picture of a figure and its SVG.
func plotted(t *testing.T, f *figure) (image.Image, string) {
	t.Helper()
	name := filepath.Join(t.TempDir(), "figure")
	if err := f.save(name); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(name + ".svg")
	if err != nil {
		t.Fatal(err)
	}
	for d := xml.NewDecoder(strings.NewReader(string(text))); ; {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatalf("the SVG is no XML: %v", err)
		}
	}
	file, err := os.Open(name + ".png")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	picture, err := png.Decode(file)
	if err != nil {
		t.Fatal(err)
	}
	return picture, string(text)
}

// pixels counts the pixels of a colour.
func pixels(m image.Image, c color.Color) (n int) {
	r, g, b, _ := c.RGBA()
	for y := m.Bounds().Min.Y; y < m.Bounds().Max.Y; y++ {
		for x := m.Bounds().Min.X; x < m.Bounds().Max.X; x++ {
			if pr, pg, pb, _ := m.At(x, y).RGBA(); pr == r && pg == g && pb == b {
				n++
			}
		}
	}
	return n
}

// The plots show every solver in its colour, say what they show, and mark limits.
func TestFigures(t *testing.T) {
	rows := rowsOf(rowCells(), []string{"a", "b"}, false)
	for _, c := range []struct {
		name    string
		f       *figure
		texts   []string
		absent  string
		colours int
	}{
		{"coverage", coveragePlot(rows, []string{"a", "b"}, 10, false),
			[]string{"states decided (%)", "time since the start of the run (s)", "a", "b", "time limit", "100"}, "", 2},
		{"coverage of fresh states", coveragePlot(rows, []string{"a", "b"}, 10, true), []string{"time for the state (s)"}, "time limit", 2},
		{"coverage without a limit", coveragePlot(rows, []string{"a"}, 0, false), []string{"a"}, "time limit", 1},
		{"nothing decided", coveragePlot(nil, []string{"a", "b"}, 0, false), []string{"a", "b"}, "", 2},
		{"cactus", cactusPlot(rows, []string{"a", "b"}, 10), []string{"a (3)", "b (1)", "all rows (3)", "time limit", "time for the row (s)"}, "", 2},
		{"cactus of nothing", cactusPlot(rows[:0], []string{"a"}, 0), []string{"a (0)", "all rows (0)"}, "", 1},
		{"scatter", scatterPlot([]duel{{inf, 1, math.Inf(1)}, {2, 0.01, 2}, {2, math.Inf(1), math.Inf(1)}}, "a", "b", 0),
			[]string{"a: time (s)", "b: time (s)", "limit", "not decided", "radius ∞", "radius 2", "neither decided: 1", "factor 10"}, "", 2},
		{"scatter without a limit", scatterPlot([]duel{{1, 0.1, 0.2}}, "a", "b", 0), []string{"radius 1", "equal"}, "limit", 1},
		{"scatter of nothing", scatterPlot(nil, "a", "b", 0), []string{"a: time (s)", "equal"}, "limit", 0},
	} {
		picture, svg := plotted(t, c.f)
		for _, text := range c.texts {
			if !strings.Contains(svg, ">"+text+"</text>") {
				t.Errorf("%s: the text %q is missing", c.name, text)
			}
		}
		if c.absent != "" && strings.Contains(svg, ">"+c.absent+"</text>") {
			t.Errorf("%s: there is the text %q", c.name, c.absent)
		}
		for k := range c.colours {
			if n := pixels(picture, lookOf(k).line.Color); n < 20 {
				t.Errorf("%s: %d pixels of the colour of number %d", c.name, n, k)
			}
		}
	}
}

// Looks differ in colour, dashes and marker at once as long as there are enough of each.
func TestLooks(t *testing.T) {
	seen := map[string]int{}
	for k := range 7 {
		l := lookOf(k)
		for _, part := range []string{fmt.Sprint(l.line.Color), fmt.Sprint("dashes", l.line.Dashes), fmt.Sprintf("%T", l.mark.Shape)} {
			if before, ok := seen[part]; ok {
				t.Errorf("%d and %d have the same %s", before, k, part)
			}
			seen[part] = k
		}
	}
	if len(algorithms.DeciderNames()) > 8 { // the eighth shares its colour with the first, nothing else
		t.Error("there are more solvers than looks")
	}
}

// A row that was not decided is on the border, behind all times and with no tick beyond.
func TestBorder(t *testing.T) {
	f := scatterPlot([]duel{{inf, 0.001, 0.002}, {inf, 5, math.Inf(1)}}, "a", "b", 7)
	for name, a := range map[string]*plot.Axis{"x": &f.X, "y": &f.Y} {
		ticks := a.Tick.Marker.Ticks(a.Min, a.Max)
		last := ticks[len(ticks)-1]
		if last.Label != "limit" || math.Pow(10, last.Value) <= 7 || last.Value >= a.Max {
			t.Errorf("%s: the last tick is %q at %g, up to %g", name, last.Label, math.Pow(10, last.Value), math.Pow(10, a.Max))
		}
		for _, tick := range ticks[:len(ticks)-1] {
			if tick.Value >= last.Value {
				t.Errorf("%s: a tick at %g, beyond the limit at %g", name, tick.Value, last.Value)
			}
		}
	}
}
