package benchmarks

import (
	_ "embed"
	"strings"

	"github.com/tidwall/gjson"
)

//go:embed suite.json
var suite string

// Named is an instance of suite.json.
type Named struct {
	Name  string
	Model string // what Open takes, too: the name of an embedded instance, or FAMILY:PARAMETER=VALUE,…
}

// Suite returns the instances of suite.json, in its order: those of all families, in several
// sizes.
func Suite() (list []Named) {
	gjson.Get(suite, "instances").ForEach(func(_, i gjson.Result) bool {
		list = append(list, Named{i.Get("name").Str, strings.TrimPrefix(i.Get("model").Str, "bench:")})
		return true
	})
	return list
}
