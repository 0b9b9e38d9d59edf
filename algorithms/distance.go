package algorithms

// This file computes h_u, how far a state is from satisfying the unsafety condition:
// the estimate that guides fuzzing. It follows the distance of the policy testing
// paper (a violated linear constraint Σ wᵢxᵢ ≤ b counts |Σ wᵢxᵢ − b|, ∧ is the sum, ∨ the
// minimum, both over the negation normal form), and extends it to what the paper leaves
// open:
//
//   - over integers <, > and ≥ are ≤ after a shift by one: x < 3 is x ≤ 2;
//   - a violated = counts |lhs − rhs|, a violated ≠ counts 1;
//   - a false Boolean literal counts 1, and so does a false equality with a location;
//   - terms need not be linear: the distance is |lhs − rhs| in any case;
//   - a violated constraint with distance 0 counts 1e-9, so that h_u is 0 exactly in
//     the unsafe states;
//   - h_u is at most the largest float64.
//
// The negation normal form is not built: one pass computes for every subformula the
// distances of itself and of its negation. That is the same number, with ite(c, a, b)
// read as (c ∧ a) ∨ (¬c ∧ b), its negation as ite(c, ¬a, ¬b), and the equality of Booleans
// as ite(a, b, ¬b); but the time is linear in the formula, where the normal form of
// nested equalities is exponential.

import (
	"math"

	"fuzzsafe/jani"
)

// NoUnsafeDistance is h_u of every state if nothing is unsafe.
const NoUnsafeDistance = 1

// leastDistance is the distance of a violated constraint whose sides differ by nothing,
// such as x < x over reals.
const leastDistance = 1e-9

// Distance is h_u for one unsafety condition. It does not change: any number of
// goroutines may use it.
type Distance struct {
	model  *jani.Model
	unsafe *jani.Expr
}

// NewDistance returns h_u for unsafe, a typed boolean expression over the variables of
// m, or nil if nothing is unsafe. It returns a *jani.Error if unsafe is not boolean.
func NewDistance(m *jani.Model, unsafe *jani.Expr) (*Distance, error) {
	if unsafe != nil && unsafe.Kind != jani.KindBool {
		return nil, &jani.Error{Kind: jani.BadInput, Pos: unsafe.Pos, Msg: "the unsafety condition must be boolean, not " + unsafe.Kind.String()}
	}
	return &Distance{model: m, unsafe: unsafe}, nil
}

// Of returns h_u of the state with the given values: 0 if it is unsafe, otherwise a
// positive number, never infinite. It returns the *jani.Error of a part that cannot be
// evaluated, if lazy evaluation of the condition needs that part; a part that it does
// not need, such as 1/x > 2 in x ≠ 0 ∧ 1/x > 2 for x = 0, counts nothing. Time is linear
// in the condition; nothing is allocated.
func (d *Distance) Of(values []jani.Value) (float64, error) {
	if d.unsafe == nil {
		return NoUnsafeDistance, nil
	}
	h, err := d.of(d.unsafe, values)
	if err != nil {
		return 0, err
	}
	return min(h.yes, math.MaxFloat64), nil
}

// distances are those of a formula and of its negation. One of them is 0, the other
// is positive and may be +Inf.
type distances struct{ yes, no float64 }

func literal(b bool) distances {
	if b {
		return distances{0, 1}
	}
	return distances{1, 0}
}

func (h distances) negated() distances { return distances{h.no, h.yes} }

func (h distances) and(g distances) distances {
	return distances{h.yes + g.yes, min(h.no, g.no)}
}

func (h distances) or(g distances) distances { return h.negated().and(g.negated()).negated() }

// ite returns the distances of ite(h, a, b).
func (h distances) ite(a, b distances) distances {
	return distances{min(h.yes+a.yes, h.no+b.yes), min(h.yes+a.no, h.no+b.no)}
}

// of computes the distances of e.
func (d *Distance) of(e *jani.Expr, values []jani.Value) (distances, error) {
	switch e.Op {
	case jani.OpNot, jani.OpAnd, jani.OpOr, jani.OpImplies, jani.OpIte:
	case jani.OpEq, jani.OpNe, jani.OpLt, jani.OpLe, jani.OpGt, jani.OpGe:
		if e.Args[0].Kind != jani.KindBool {
			return d.comparison(e, values)
		}
	default:
		c, err := e.Eval(values)
		return literal(c.Bool()), err
	}
	a, err := d.of(e.Args[0], values)
	if err != nil || e.Op == jani.OpNot {
		return a.negated(), err
	}
	if e.Op == jani.OpImplies {
		a = a.negated()
	}
	holds := a.yes == 0
	b, err := d.of(e.Args[1], values)
	switch e.Op {
	case jani.OpAnd:
		if err != nil && !holds {
			return a, nil
		}
		return a.and(b), err
	case jani.OpOr, jani.OpImplies:
		if err != nil && holds {
			return a, nil
		}
		return a.or(b), err
	case jani.OpEq:
		return a.ite(b, b.negated()), err
	case jani.OpNe:
		return a.ite(b.negated(), b), err
	}
	c, cerr := d.of(e.Args[2], values)
	switch {
	case err == nil && cerr == nil:
		return a.ite(b, c), nil
	case holds:
		return b, err
	}
	return c, cerr
}

// comparison computes the distances of the comparison e of two numbers or locations.
func (d *Distance) comparison(e *jani.Expr, values []jani.Value) (distances, error) {
	a, err := e.Args[0].Eval(values)
	if err != nil {
		return distances{}, err
	}
	b, err := e.Args[1].Eval(values)
	if err != nil {
		return distances{}, err
	}
	var less, equal bool
	var gap float64      // |a − b|
	strict := float64(0) // what < needs beyond ≤
	if a.Kind == jani.KindReal || b.Kind == jani.KindReal {
		x, y := a.Float(), b.Float()
		less, equal, gap = x < y, x == y, math.Abs(x-y)
	} else {
		// The difference of two int64 is exact in 64 bits without sign.
		less, equal, strict = a.Int < b.Int, a.Int == b.Int, 1
		gap = float64(uint64(max(a.Int, b.Int)) - uint64(min(a.Int, b.Int)))
	}
	violated := func(gap float64) float64 {
		if gap == 0 {
			return leastDistance
		}
		return gap
	}
	switch e.Op {
	case jani.OpEq, jani.OpNe:
		h := literal(equal)
		if !equal && !d.isLocation(e.Args[0]) && !d.isLocation(e.Args[1]) {
			h.yes = violated(gap)
		}
		if e.Op == jani.OpNe {
			h = h.negated()
		}
		return h, nil
	case jani.OpLt, jani.OpGe:
		h := distances{yes: violated(gap + strict)}
		if less {
			h = distances{no: violated(gap)}
		}
		if e.Op == jani.OpGe {
			h = h.negated()
		}
		return h, nil
	default:
		h := distances{yes: violated(gap)}
		if less || equal {
			h = distances{no: violated(gap + strict)}
		}
		if e.Op == jani.OpGt {
			h = h.negated()
		}
		return h, nil
	}
}

func (d *Distance) isLocation(e *jani.Expr) bool {
	return e.Op == jani.OpVar && d.model.Vars[e.Var].Kind == jani.VarLocation
}
