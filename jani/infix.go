package jani

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// ParseInfix reads an expression as people write it, for example
//
//	x <= 3 & (y = 2 | !done) & load[2] + 1 < max(cap, 4)
//
// From loosest to tightest: => (⇒, ->); | (∨, ||, or); & (∧, &&, and); ! (¬, not);
// = == ≠ != < <= ≤ > >= ≥; + -; * / %; unary -. Functions: min max pow log abs sgn trc
// floor ceil ite. Constants: true, false, numbers. A name may hold letters, digits,
// _ . # and, if names says that such a name exists, - as in hand-empty; any other
// name stands between double quotes or backquotes. label says where the text comes
// from, for errors.
func ParseInfix(label, text string, names []string, limits Limits) (*Expr, error) {
	limits = limits.withDefaults()
	p := infix{src: &Source{Name: label, Text: text}, names: map[string]bool{}, depth: limits.MaxDepth}
	for _, n := range names {
		p.names[n] = true
		p.longest = max(p.longest, len(n))
	}
	p.next()
	e := p.implication()
	if p.err == nil && p.kind != tokEnd {
		p.fail("found %s where the expression should end", p.shown())
	}
	if p.err != nil {
		return nil, p.err
	}
	return e, nil
}

type tokenKind uint8

const (
	tokEnd tokenKind = iota
	tokNumber
	tokName
	tokQuoted
	tokSign
)

type infix struct {
	src   *Source
	names map[string]bool
	// longest is the length of the longest of names.
	longest int
	depth   int // nesting that is still allowed
	err     error

	at    int // behind the current token
	start int
	kind  tokenKind
	text  string
}

func (p *infix) fail(format string, args ...any) {
	if p.err == nil {
		p.err = badInput(Pos{p.src, int32(p.start)}, format, args...)
	}
	p.kind = tokEnd
}

func (p *infix) shown() string {
	if p.kind == tokEnd {
		return "the end"
	}
	return "“" + p.text + "”"
}

func isNameStart(r rune) bool { return unicode.IsLetter(r) || r == '_' }

func isNamePart(r rune) bool {
	return isNameStart(r) || unicode.IsDigit(r) || r == '.' || r == '#'
}

// next reads the next token.
func (p *infix) next() {
	if p.err != nil {
		return
	}
	text := p.src.Text
	for p.at < len(text) && strings.IndexByte(" \t\n\r", text[p.at]) >= 0 {
		p.at++
	}
	p.start = p.at
	if p.at == len(text) {
		p.kind, p.text = tokEnd, ""
		return
	}
	r, size := utf8.DecodeRuneInString(text[p.at:])
	switch {
	case r >= '0' && r <= '9' || r == '.':
		p.number()
	case isNameStart(r):
		p.name()
	case r == '"' || r == '`':
		end := strings.IndexRune(text[p.at+1:], r)
		if end < 0 {
			p.fail("a quoted name is not closed")
			return
		}
		p.kind, p.text = tokQuoted, text[p.at+1:p.at+1+end]
		p.at += end + 2
	default:
		p.kind, p.text = tokSign, text[p.at:p.at+size]
		for _, long := range [...]string{"<=", ">=", "!=", "==", "=>", "->", "&&", "||"} {
			if strings.HasPrefix(text[p.at:], long) {
				p.text = long
			}
		}
		p.at += len(p.text)
	}
}

func (p *infix) number() {
	text := p.src.Text
	i := p.at
	for i < len(text) && (text[i] >= '0' && text[i] <= '9' || text[i] == '.' ||
		(text[i] == 'e' || text[i] == 'E') ||
		(text[i] == '+' || text[i] == '-') && (text[i-1] == 'e' || text[i-1] == 'E')) {
		i++
	}
	p.kind, p.text, p.at = tokNumber, text[p.at:i], i
}

// name takes the longest known name that starts here and may hold '-'; if there is
// none, the run of ordinary name characters.
func (p *infix) name() {
	text := p.src.Text[p.at:]
	plain, end, known := -1, len(text), 0
	for i, r := range text {
		if isNamePart(r) {
			continue
		}
		if plain < 0 {
			plain = i
		}
		if r != '-' || i > p.longest {
			end = i
			break
		}
		if p.names[text[:i]] {
			known = i
		}
	}
	if plain < 0 {
		plain = end
	}
	if end <= p.longest && p.names[text[:end]] {
		known = end
	}
	n := max(known, plain)
	p.kind, p.text, p.at = tokName, text[:n], p.at+n
}

// accept consumes the current token if it is one of the given signs or words.
func (p *infix) accept(tokens ...string) string {
	if p.kind == tokSign || p.kind == tokName {
		for _, t := range tokens {
			if p.text == t {
				p.next()
				return t
			}
		}
	}
	return ""
}

func (p *infix) expect(sign string) {
	if p.accept(sign) == "" {
		p.fail("found %s where “%s” is expected", p.shown(), sign)
	}
}

func (p *infix) pos() Pos { return Pos{p.src, int32(p.start)} }

// descend bounds the recursion, since each nesting level of the text takes some levels
// of the stack.
func (p *infix) descend(f func() *Expr) *Expr {
	if p.depth == 0 {
		p.fail("the expression nests too deep")
	}
	if p.err != nil {
		return &Expr{}
	}
	p.depth--
	e := f()
	p.depth++
	return e
}

func (p *infix) implication() *Expr {
	left := p.chain(p.conjunction, OpOr, "|", "||", "∨", "or")
	if pos := p.pos(); p.accept("=>", "->", "⇒") != "" {
		right := p.descend(p.implication)
		return &Expr{Op: OpImplies, Args: []*Expr{left, right}, Pos: pos}
	}
	return left
}

func (p *infix) conjunction() *Expr { return p.chain(p.negation, OpAnd, "&", "&&", "∧", "and") }

func (p *infix) chain(operand func() *Expr, op Op, tokens ...string) *Expr {
	left := operand()
	for {
		pos := p.pos()
		if p.accept(tokens...) == "" {
			return left
		}
		left = &Expr{Op: op, Args: []*Expr{left, operand()}, Pos: pos}
	}
}

func (p *infix) negation() *Expr {
	if pos := p.pos(); p.accept("!", "¬", "not") != "" {
		return &Expr{Op: OpNot, Args: []*Expr{p.descend(p.negation)}, Pos: pos}
	}
	return p.comparison()
}

func (p *infix) comparison() *Expr {
	left := p.sum()
	pos := p.pos()
	sign := p.accept("=", "==", "≠", "!=", "<", "<=", "≤", ">", ">=", "≥")
	if sign == "" {
		return left
	}
	if sign == "==" {
		sign = "="
	}
	op, _ := binaryOp(sign)
	return &Expr{Op: op, Args: []*Expr{left, p.sum()}, Pos: pos}
}

func (p *infix) sum() *Expr     { return p.arithmetic(p.product, "+", "-") }
func (p *infix) product() *Expr { return p.arithmetic(p.unary, "*", "/", "%") }

func (p *infix) arithmetic(operand func() *Expr, signs ...string) *Expr {
	left := operand()
	for {
		pos := p.pos()
		sign := p.accept(signs...)
		if sign == "" {
			return left
		}
		op, _ := binaryOp(sign)
		left = &Expr{Op: op, Args: []*Expr{left, operand()}, Pos: pos}
	}
}

func (p *infix) unary() *Expr {
	if pos := p.pos(); p.accept("-") != "" {
		if p.kind == tokNumber {
			p.text = "-" + p.text
			return p.atom()
		}
		return &Expr{Op: OpNeg, Args: []*Expr{p.descend(p.unary)}, Pos: pos}
	}
	return p.atom()
}

func (p *infix) atom() *Expr {
	e := &Expr{Pos: p.pos()}
	switch p.kind {
	case tokNumber:
		if wrong := e.literal(p.text); wrong != "" {
			p.fail("%s", wrong)
		}
		p.next()
		return e
	case tokQuoted:
		e.Op, e.Name = OpName, p.text
		p.next()
	case tokName:
		name := p.text
		p.next()
		switch {
		case name == "true" || name == "false":
			e.Op, e.Kind, e.Int = OpConst, KindBool, int64(btoi(name == "true"))
			return e
		case p.kind == tokSign && p.text == "(":
			return p.descend(func() *Expr { return p.call(e, name) })
		}
		e.Op, e.Name = OpName, name
	default:
		if p.accept("(") == "" {
			p.fail("found %s where a value is expected", p.shown())
			return e
		}
		e = p.descend(p.implication)
		p.expect(")")
		return e
	}
	for {
		pos := p.pos()
		if p.accept("[") == "" {
			return e
		}
		index := p.descend(p.sum)
		p.expect("]")
		e = &Expr{Op: OpAccess, Args: []*Expr{e, index}, Pos: pos}
	}
}

func (p *infix) call(e *Expr, name string) *Expr {
	e.Op = unaryOp(name)
	arity := 1
	if e.Op == OpNone {
		if op, _ := binaryOp(name); op == OpMin || op == OpMax || op == OpPow || op == OpLog {
			e.Op, arity = op, 2
		}
	}
	if name == "ite" {
		e.Op, arity = OpIte, 3
	}
	if e.Op == OpNone {
		p.start = int(e.Pos.Off)
		p.fail("unknown function “%s”", name)
		return e
	}
	p.expect("(")
	for i := range arity {
		if i > 0 {
			p.expect(",")
		}
		e.Args = append(e.Args, p.implication())
	}
	p.expect(")")
	return e
}
