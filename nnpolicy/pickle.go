package nnpolicy

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strings"
)

// Values of a pickle: nil, bool, int64, float64, string, pyTuple, *pyList, *pyDict, pyClass,
// pyStorage and *pyTensor.
type (
	pyTuple []any
	pyList  struct{ items []any }
	pyClass string // module.name
	pyMark  struct{}

	// pyDict has its keys in the order in which they were set first; others than strings
	// are refused.
	pyDict struct {
		keys   []string
		values []any
		index  map[string]int
	}

	// pyStorage is a file of numbers in a torch archive.
	pyStorage struct{ class, key string }

	// pyTensor is the part of a storage that a tensor is.
	pyTensor struct {
		storage       pyStorage
		offset        int
		dims, strides []int
	}
)

func (d *pyDict) set(key string, v any) {
	if i, ok := d.index[key]; ok {
		d.values[i] = v
		return
	}
	if d.index == nil {
		d.index = make(map[string]int)
	}
	d.index[key] = len(d.keys)
	d.keys, d.values = append(d.keys, key), append(d.values, v)
}

// pick returns the numbers of t, which has at most two extents, out of those of its storage.
func (t *pyTensor) pick(all []float64) ([]float64, error) {
	last, n := t.offset, 1
	if len(t.strides) != len(t.dims) {
		return nil, fmt.Errorf("the shape %v and the strides %v do not fit", t.dims, t.strides)
	}
	for i, d := range t.dims {
		if d < 1 || d > len(all) || t.strides[i] < 0 || t.strides[i] > len(all) {
			return nil, fmt.Errorf("the shape %v or the strides %v are not usable", t.dims, t.strides)
		}
		last += (d - 1) * t.strides[i]
		n *= d
	}
	if t.offset < 0 || last >= len(all) || n > maxNumbers {
		return nil, fmt.Errorf("a tensor of shape %v, strides %v and offset %d does not fit into a storage of %d numbers",
			t.dims, t.strides, t.offset, len(all))
	}
	numbers := make([]float64, n)
	for i, at := range places(t.dims, t.strides) {
		numbers[i] = all[t.offset+int(at)]
	}
	return numbers, nil
}

var errPickle = errors.New("the pickle is damaged")

// unpickler is the stack machine that a pickle is a program for.
type unpickler struct {
	text  []byte // what is left of the program
	stack []any
	memo  map[uint32]any
}

// unpickle runs a pickle (protocols 2 to 5) and returns its value. Only the operations
// that a dictionary of tensors needs are known, and only these classes and functions:
// collections.OrderedDict, torch._utils._rebuild_tensor_v2 and _rebuild_parameter, and the
// storages of torch. Any other is unsupported. Time and memory are linear in the program.
func unpickle(program []byte) (any, error) {
	u := &unpickler{text: program, memo: make(map[uint32]any)}
	for {
		at := len(program) - len(u.text)
		op, err := u.take(1)
		if err != nil {
			return nil, err
		}
		if op[0] == '.' {
			v, err := u.pop()
			if _, isMark := v.(pyMark); err != nil || isMark || len(u.stack) > 0 {
				return nil, errPickle
			}
			return v, nil
		}
		if err := u.run(op[0]); err != nil {
			return nil, fmt.Errorf("byte %d: %w", at, err)
		}
	}
}

func (u *unpickler) take(n int) ([]byte, error) {
	if n < 0 || n > len(u.text) {
		return nil, errPickle
	}
	b := u.text[:n]
	u.text = u.text[n:]
	return b, nil
}

// number takes an integer of n bytes, without sign.
func (u *unpickler) number(n int) (uint64, error) {
	var word [8]byte
	b, err := u.take(n)
	copy(word[:], b)
	return binary.LittleEndian.Uint64(word[:]), err
}

// counted takes a string whose length stands in n bytes before it.
func (u *unpickler) counted(n int) ([]byte, error) {
	length, err := u.number(n)
	if err != nil || length > uint64(len(u.text)) {
		return nil, errPickle
	}
	return u.take(int(length))
}

func (u *unpickler) line() (string, error) {
	text, _, ok := strings.Cut(string(u.text[:min(len(u.text), 1000)]), "\n")
	if !ok {
		return "", errPickle
	}
	u.text = u.text[len(text)+1:]
	return text, nil
}

func (u *unpickler) push(v any) { u.stack = append(u.stack, v) }

func (u *unpickler) pop() (any, error) {
	if len(u.stack) == 0 {
		return nil, errPickle
	}
	v := u.stack[len(u.stack)-1]
	u.stack = u.stack[:len(u.stack)-1]
	return v, nil
}

// toMark pops all above the last mark, and the mark.
func (u *unpickler) toMark() (pyTuple, error) {
	for i := len(u.stack) - 1; i >= 0; i-- {
		if _, ok := u.stack[i].(pyMark); ok {
			items := append(pyTuple{}, u.stack[i+1:]...)
			u.stack = u.stack[:i]
			return items, nil
		}
	}
	return nil, errPickle
}

// tuple replaces the last n values by a tuple of them.
func (u *unpickler) tuple(n int) error {
	if len(u.stack) < n {
		return errPickle
	}
	items := append(pyTuple{}, u.stack[len(u.stack)-n:]...)
	u.stack = append(u.stack[:len(u.stack)-n], items)
	return nil
}

// run carries out one operation other than STOP.
func (u *unpickler) run(op byte) error {
	switch op {
	case 0x80: // PROTO
		v, err := u.number(1)
		if err == nil && (v < 2 || v > 5) {
			return notSupported("version %d of pickles", v)
		}
		return err
	case 0x95: // FRAME
		_, err := u.take(8)
		return err
	case '(': // MARK
		u.push(pyMark{})
	case 'N': // NONE
		u.push(nil)
	case 0x88, 0x89: // NEWTRUE, NEWFALSE
		u.push(op == 0x88)
	case 'K': // BININT1
		return u.integer(1)
	case 'M': // BININT2
		return u.integer(2)
	case 'J': // BININT, with sign
		n, err := u.number(4)
		u.push(int64(int32(n)))
		return err
	case 0x8a: // LONG1
		b, err := u.counted(1)
		if err != nil || len(b) > 7 {
			return errPickle
		}
		var word [8]byte
		copy(word[:], b)
		shift := 64 - 8*len(b)
		u.push(int64(binary.LittleEndian.Uint64(word[:])<<shift) >> shift)
	case 'G': // BINFLOAT
		b, err := u.take(8)
		if err != nil {
			return err
		}
		u.push(math.Float64frombits(binary.BigEndian.Uint64(b)))
	case 'X', 0x8c: // BINUNICODE, SHORT_BINUNICODE
		b, err := u.counted(map[byte]int{'X': 4, 0x8c: 1}[op])
		u.push(string(b))
		return err
	case 'q', 'r': // BINPUT, LONG_BINPUT
		n, err := u.number(map[byte]int{'q': 1, 'r': 4}[op])
		if err != nil || len(u.stack) == 0 {
			return errPickle
		}
		u.memo[uint32(n)] = u.stack[len(u.stack)-1]
	case 0x94: // MEMOIZE
		if len(u.stack) == 0 {
			return errPickle
		}
		u.memo[uint32(len(u.memo))] = u.stack[len(u.stack)-1]
	case 'h', 'j': // BINGET, LONG_BINGET
		n, err := u.number(map[byte]int{'h': 1, 'j': 4}[op])
		v, ok := u.memo[uint32(n)]
		if err != nil || !ok {
			return errPickle
		}
		u.push(v)
	case '}': // EMPTY_DICT
		u.push(&pyDict{})
	case ']': // EMPTY_LIST
		u.push(&pyList{})
	case ')': // EMPTY_TUPLE
		u.push(pyTuple{})
	case 't': // TUPLE
		items, err := u.toMark()
		u.push(items)
		return err
	case 0x85, 0x86, 0x87: // TUPLE1, TUPLE2, TUPLE3
		return u.tuple(int(op - 0x84))
	case 'c': // GLOBAL
		module, err := u.line()
		if err != nil {
			return err
		}
		name, err := u.line()
		if err != nil {
			return err
		}
		return u.global(module, name)
	case 0x93: // STACK_GLOBAL
		if err := u.tuple(2); err != nil {
			return err
		}
		v, _ := u.pop()
		module, isModule := v.(pyTuple)[0].(string)
		name, isName := v.(pyTuple)[1].(string)
		if !isModule || !isName {
			return errPickle
		}
		return u.global(module, name)
	case 'R': // REDUCE
		if err := u.tuple(2); err != nil {
			return err
		}
		v, _ := u.pop()
		class, isClass := v.(pyTuple)[0].(pyClass)
		arguments, isTuple := v.(pyTuple)[1].(pyTuple)
		if !isClass || !isTuple {
			return errPickle
		}
		return u.call(class, arguments)
	case 'Q': // BINPERSID
		v, err := u.pop()
		id, ok := v.(pyTuple)
		if err != nil || !ok || len(id) < 3 || id[0] != "storage" {
			return errPickle
		}
		class, isClass := id[1].(pyClass)
		key, isKey := id[2].(string)
		if !isClass || !isKey {
			return errPickle
		}
		u.push(pyStorage{string(class), key})
	case 'b': // BUILD: attributes of a dictionary, such as _metadata, which nobody reads
		if _, err := u.pop(); err != nil {
			return err
		}
		if _, ok := u.top().(*pyDict); !ok {
			return notSupported("setting attributes of anything but a dictionary")
		}
	case 's': // SETITEM
		if err := u.tuple(2); err != nil {
			return err
		}
		v, _ := u.pop()
		return u.setItems(v.(pyTuple))
	case 'u': // SETITEMS
		items, err := u.toMark()
		if err != nil {
			return err
		}
		return u.setItems(items)
	case 'a': // APPEND
		v, err := u.pop()
		if err != nil {
			return err
		}
		return u.extend(v)
	case 'e': // APPENDS
		items, err := u.toMark()
		if err != nil {
			return err
		}
		return u.extend(items...)
	default:
		return notSupported("the operation %q of pickles", op)
	}
	return nil
}

// integer pushes an integer of n bytes without sign.
func (u *unpickler) integer(n int) error {
	x, err := u.number(n)
	u.push(int64(x))
	return err
}

// top returns the last value, nil if there is none.
func (u *unpickler) top() any {
	if len(u.stack) == 0 {
		return nil
	}
	return u.stack[len(u.stack)-1]
}

func (u *unpickler) setItems(items pyTuple) error {
	d, ok := u.top().(*pyDict)
	if !ok || len(items)%2 != 0 {
		return errPickle
	}
	for i := 0; i < len(items); i += 2 {
		key, ok := items[i].(string)
		if !ok {
			return notSupported("a dictionary whose keys are not strings")
		}
		d.set(key, items[i+1])
	}
	return nil
}

func (u *unpickler) extend(items ...any) error {
	l, ok := u.top().(*pyList)
	if !ok {
		return errPickle
	}
	l.items = append(l.items, items...)
	return nil
}

const (
	rebuildTensor    = "torch._utils._rebuild_tensor_v2"
	rebuildParameter = "torch._utils._rebuild_parameter"
	orderedDict      = "collections.OrderedDict"
)

// global pushes a class or function by name.
func (u *unpickler) global(module, name string) error {
	class := module + "." + name
	if class != orderedDict && class != rebuildTensor && class != rebuildParameter &&
		(module != "torch" || !strings.HasSuffix(name, "Storage")) {
		return notSupported("the class or function %q in a file that holds more than tensors (save net.state_dict() only), which", class)
	}
	u.push(pyClass(class))
	return nil
}

// call pushes the result of a function.
func (u *unpickler) call(class pyClass, arguments pyTuple) error {
	switch {
	case class == orderedDict && len(arguments) == 0:
		u.push(&pyDict{})
		return nil
	case class == rebuildParameter && len(arguments) > 0:
		if t, ok := arguments[0].(*pyTensor); ok {
			u.push(t)
			return nil
		}
	case class == rebuildTensor && len(arguments) >= 4:
		storage, isStorage := arguments[0].(pyStorage)
		offset, isOffset := arguments[1].(int64)
		dims, isDims := integers(arguments[2])
		strides, isStrides := integers(arguments[3])
		if isStorage && isOffset && isDims && isStrides {
			u.push(&pyTensor{storage, int(offset), dims, strides})
			return nil
		}
	}
	return errPickle
}

// integers returns the numbers of a tuple of integers.
func integers(v any) ([]int, bool) {
	items, ok := v.(pyTuple)
	list := []int{}
	for _, item := range items {
		n, isInt := item.(int64)
		list = append(list, int(n))
		ok = ok && isInt
	}
	return list, ok
}
