package certificate

import "fuzzsafe/jani"

// Choose returns which of the applicable actions the policy takes in a state of a model.
func Choose(p *Policy, vars []jani.Var, labels []string, unfiltered bool, state []jani.Value, applicable []int) (int, error) {
	list := make([]column, len(vars))
	for i := range vars {
		kinds := map[jani.VarKind]jani.Kind{jani.VarBool: jani.KindBool, jani.VarInt: jani.KindInt, jani.VarReal: jani.KindReal}
		list[i] = column{name: vars[i].Name, kind: kinds[vars[i].Kind], locations: vars[i].Locations}
	}
	b, err := p.bind(list, labels, unfiltered)
	if err != nil {
		return -1, err
	}
	return b.choose(state, applicable)
}
