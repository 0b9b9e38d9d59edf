package nnpolicy

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"fuzzsafe/engine"
	"fuzzsafe/jani"
)

// TrainOptions says how Train learns.
type TrainOptions struct {
	Hidden   []int // widths of the hidden layers
	Episodes int   // at most so many runs are made to learn from
	MaxSteps int   // a run ends after so many steps
	Seed     uint64

	LearningRate float64 // of Adam
	Discount     float64 // γ, of a reward per step that it is away
	// Epsilon is the probability of a random action at the end: it falls from 1 linearly
	// during the first Explore of the episodes.
	Epsilon, Explore float64
	Batch            int // transitions per update of the weights
	Replay           int // transitions that are remembered
	UpdateEvery      int // steps from one update of the weights to the next
	TargetEvery      int // updates from one update of the target network to the next

	GoalReward, UnsafeReward, StepReward float64 // for a step into a goal, into an unsafe state, and for any other

	EvaluateEvery int // episodes from one evaluation to the next
	EvaluateRuns  int // greedy runs of an evaluation
	// Patience is how many evaluations in a row may bring nothing better before training
	// ends, not counting those while the exploration falls; 0 is any number.
	Patience int
}

// DefaultTrainOptions returns the options that “fuzzsafe train” has without flags.
func DefaultTrainOptions() TrainOptions {
	return TrainOptions{
		Hidden: []int{64, 64}, Episodes: 10_000, MaxSteps: 100, Seed: 1,
		LearningRate: 5e-4, Discount: 0.99, Epsilon: 0.05, Explore: 0.5,
		Batch: 128, Replay: 100_000, UpdateEvery: 2, TargetEvery: 500,
		GoalReward: 1, UnsafeReward: -1, StepReward: -0.005,
		EvaluateEvery: 250, EvaluateRuns: 200, Patience: 10,
	}
}

// Check returns what is wrong with the options.
func (o *TrainOptions) Check() error {
	for _, n := range []struct {
		name               string
		value, least, most int
	}{
		{"the number of episodes", o.Episodes, 1, math.MaxInt32}, {"the step limit", o.MaxSteps, 1, math.MaxInt32},
		{"the size of a batch", o.Batch, 1, 4096}, {"the number of remembered transitions", o.Replay, o.Batch, 1 << 27},
		{"the steps between updates", o.UpdateEvery, 1, math.MaxInt32},
		{"the updates between those of the target", o.TargetEvery, 1, math.MaxInt32},
		{"the episodes between evaluations", o.EvaluateEvery, 1, math.MaxInt32},
		{"the number of runs of an evaluation", o.EvaluateRuns, 1, math.MaxInt32},
		{"the patience", o.Patience, 0, math.MaxInt32}, {"the number of hidden layers", len(o.Hidden), 1, 16},
	} {
		if n.value < n.least || n.value > n.most {
			return fmt.Errorf("%s is %d, it must be from %d to %d", n.name, n.value, n.least, n.most)
		}
	}
	for _, x := range []struct {
		name        string
		value       float64
		least, most float64
	}{
		{"the learning rate", o.LearningRate, math.SmallestNonzeroFloat64, 1}, {"the discount", o.Discount, 0, 1},
		{"the last probability of a random action", o.Epsilon, 0, 1}, {"the part of the episodes that explore", o.Explore, 0, 1},
		{"the reward of a goal", o.GoalReward, -1e6, 1e6}, {"the reward of an unsafe state", o.UnsafeReward, -1e6, 1e6},
		{"the reward of a step", o.StepReward, -1e6, 1e6},
	} {
		if !(x.value >= x.least && x.value <= x.most) {
			return fmt.Errorf("%s is %v, it must be from %v to %v", x.name, x.value, x.least, x.most)
		}
	}
	for _, width := range o.Hidden {
		if width < 1 || width > 4096 {
			return fmt.Errorf("the width of a hidden layer is %d, it must be from 1 to 4096", width)
		}
	}
	return nil
}

// TrainRuns counts how runs ended.
type TrainRuns struct {
	Runs      int     `json:"runs"`
	Goal      int     `json:"goal"`
	Unsafe    int     `json:"unsafe"`
	DeadEnd   int     `json:"dead_end"` // no action was applicable
	StepLimit int     `json:"step_limit"`
	Return    float64 `json:"mean_return"` // discounted sum of rewards
	Steps     float64 `json:"mean_steps"`
}

// add adds a run; Return and Steps are sums until mean.
func (r *TrainRuns) add(run *trainRun) {
	r.Runs++
	r.Return += run.gain
	r.Steps += float64(run.steps)
	switch run.end {
	case endGoal:
		r.Goal++
	case endUnsafe:
		r.Unsafe++
	case endDead:
		r.DeadEnd++
	case endSteps:
		r.StepLimit++
	}
}

// mean returns the counts with means in place of sums.
func (r TrainRuns) mean() TrainRuns {
	r.Return /= float64(max(r.Runs, 1))
	r.Steps /= float64(max(r.Runs, 1))
	return r
}

// better compares evaluations: more goals, then fewer unsafe runs, then a larger return.
func (r *TrainRuns) better(than *TrainRuns) bool {
	return cmp.Or(cmp.Compare(r.Goal, than.Goal), cmp.Compare(than.Unsafe, r.Unsafe), cmp.Compare(r.Return, than.Return)) > 0
}

// TrainReport is a point of the learning curve.
type TrainReport struct {
	Episode    int       `json:"episode"` // how many have been made
	Steps      int64     `json:"steps"`
	Updates    int       `json:"updates"`
	Epsilon    float64   `json:"epsilon"`
	Loss       float64   `json:"loss"`       // mean per transition since the last report
	Training   TrainRuns `json:"training"`   // the episodes since the last report
	Evaluation TrainRuns `json:"evaluation"` // of the network, greedy
	Best       bool      `json:"best"`       // the evaluation is the best so far
	Seconds    float64   `json:"seconds"`
}

// TrainResult is what Train has learned.
type TrainResult struct {
	Network   *Network // of the best evaluation, nil if none was completed
	Interface *Interface
	Random    TrainRuns   // runs with random actions, to compare with
	Best      TrainReport // where the network was evaluated best
	Last      TrainReport
	// Fresh are runs of Network as many as for an evaluation, but others, whose results
	// have not chosen it; none if the training is not Complete.
	Fresh    TrainRuns
	Stopped  bool // Patience ended the training before the last episode
	Complete bool // neither an error nor a limit ended the training
	Seconds  float64
}

// Train learns a policy for the task of sp by deep Q-learning (Mnih et al., "Human-level
// control through deep reinforcement learning", Nature 2015) in its double form (van Hasselt,
// Guez & Silver, "Deep Reinforcement Learning with Double Q-learning", 2016): a network
// estimates the discounted reward of every action label; transitions are remembered and drawn
// again for updates by Adam under the Huber loss; what comes after a transition is estimated
// by an older copy of the network. Only applicable labels are taken and estimated.
//
// An outcome of an action is drawn uniformly from its outcomes as a set, in the sense of
// planning: probabilities in the model play no part. As for every policy, a label stands for
// the first applicable action that has it, and where no applicable action has an output, the
// first one is taken; such states are passed over as part of the step that leads there.
//
// report is called after every evaluation with the network evaluated if it is the best so
// far, else nil; its error ends the training. An evaluation makes greedy runs in a fork of sp
// with the network as policy under test: what is measured is what Load and Decision do later.
// start draws the values of a start state.
//
// Equal arguments give equal results, to the last bit on processors of a kind; one goroutine
// works. If the context or a limit of sp ends the training, the result holds what there is,
// with the error. Memory is that of all states met, of o.Replay transitions (20 bytes each),
// and of six copies of the network.
func Train(ctx context.Context, sp *engine.Space, start func(*rand.Rand) ([]jani.Value, error), o TrainOptions,
	report func(TrainReport, *Network) error) (TrainResult, error) {
	if err := o.Check(); err != nil {
		return TrainResult{}, err
	}
	i := NewInterface(sp.Model())
	i.Hidden = slices.Clone(o.Hidden)
	t := &trainer{ctx: ctx, space: sp, start: start, options: o, report: report, began: time.Now()}
	t.result.Interface = i
	err := t.prepare()
	if err == nil {
		err = t.train()
	}
	t.result.Complete, t.result.Seconds = err == nil, time.Since(t.began).Seconds()
	return t.result, err
}

type trainEnd uint8

const (
	endGoal trainEnd = iota
	endUnsafe
	endDead
	endSteps
)

// trainRun is a run as far as the counts go.
type trainRun struct {
	end   trainEnd
	steps int
	gain  float64
}

// transition is a step from a state by an output of the network to the next state where the
// network has a say; usually that is the next one.
type transition struct {
	from, to engine.StateID // to is NoState if the run ended there
	output   int32
	reward   float32
	factor   float32 // of what comes after to
}

// trainer is Train at work.
type trainer struct {
	ctx     context.Context
	space   *engine.Space
	start   func(*rand.Rand) ([]jani.Value, error)
	options TrainOptions
	report  func(TrainReport, *Network) error
	began   time.Time
	result  TrainResult

	inputs  []jani.VarID
	output  []int // by action label: its output, or −1
	outputs int
	scaling Scaling

	rng     *rand.Rand // of exploration, of outcomes, and of what is drawn from the replay
	online  *learner
	target  *learner
	replay  []transition
	next    int // where the next transition is stored, once replay is full
	steps   int64
	epsilon float64

	values  []jani.Value // scratch
	drawn   []transition // scratch: of an update
	later   []float32    // scratch: what comes after each of drawn
	wanted  []bool       // scratch: outputs that are applicable
	loss    float64      // summed since the last report
	losses  int
	pending transition // what has begun and not yet led to a state where the network has a say
	begun   bool
}

// The streams of random numbers.
const (
	streamTrain = iota
	streamWeights
	streamRandom
	streamEvaluate
	streamFresh
)

func (t *trainer) stream(n uint64) *rand.Rand { return rand.New(rand.NewPCG(t.options.Seed, n)) }

// prepare makes the random runs and the networks.
func (t *trainer) prepare() error {
	m := t.space.Model()
	i := t.result.Interface
	if len(i.Inputs) == 0 || len(i.Outputs) == 0 {
		return badInput(jani.Pos{}, "there is nothing to learn: the model has %d variables and locations to read, and %d action labels to choose from",
			len(i.Inputs), len(i.Outputs))
	}
	for k := range i.Inputs {
		v, err := input(m, &i.Inputs[k])
		if err != nil {
			return err
		}
		t.inputs = append(t.inputs, v)
	}
	t.output = make([]int, len(m.Actions))
	for a := range m.Actions {
		t.output[a] = slices.IndexFunc(i.Outputs, func(o jani.Name) bool { return o.Name == m.Actions[a] })
	}
	t.outputs = len(i.Outputs)
	t.values = make([]jani.Value, len(m.Vars))
	t.wanted = make([]bool, t.outputs)
	t.drawn = make([]transition, t.options.Batch)
	t.later = make([]float32, t.options.Batch)

	rng := t.stream(streamRandom)
	var err error
	if t.result.Random, err = t.runs(t.space, rng, func(s engine.StateID) (int, error) { return t.random(s, rng) }); err != nil {
		return err
	}
	t.scaling = t.scale()
	sizes := append(append([]int{len(t.inputs)}, t.options.Hidden...), t.outputs)
	t.online = newLearner(sizes, t.options.Batch, t.stream(streamWeights))
	t.target = t.online.frozen()
	t.rng = t.stream(streamTrain)
	return nil
}

// scale maps the inputs to [−1, 1] by their bounds. Without bounds, those of the states seen
// so far serve, extended by their distance on either side.
func (t *trainer) scale() Scaling {
	m := t.space.Model()
	const wide = 1 << 52 // bounds that say nothing
	s := Scaling{OutRange: 1}
	for _, v := range t.inputs {
		x := &m.Vars[v]
		low, high := float64(x.Lower), float64(x.Upper)
		if x.Kind == jani.VarReal {
			low, high = x.RealLower, x.RealUpper
		}
		if !(low > -wide && high < wide) {
			low, high = math.Inf(1), math.Inf(-1)
			for id := range t.space.NumStates() {
				t.space.ReadValues(engine.StateID(id), t.values)
				low, high = min(low, x.Float(t.values[v])), max(high, x.Float(t.values[v]))
			}
			low, high = low-(high-low), high+(high-low)
		}
		s.Min, s.Max = append(s.Min, low), append(s.Max, high)
		s.Mean = append(s.Mean, low+(high-low)/2)
		s.Range = append(s.Range, cmp.Or((high-low)/2, 1))
	}
	return s
}

// train makes the episodes.
func (t *trainer) train() error {
	o := &t.options
	recent := TrainRuns{}
	worse := 0 // evaluations since the best one
	for episode := 0; ; episode++ {
		fall := 1.0 // how far the exploration has fallen
		if explore := o.Explore * float64(o.Episodes); float64(episode) < explore {
			fall = float64(episode) / explore
		}
		t.epsilon = 1 + (o.Epsilon-1)*fall
		if episode%o.EvaluateEvery == 0 || episode == o.Episodes {
			best, err := t.evaluate(episode, recent)
			if err != nil {
				return err
			}
			recent = TrainRuns{}
			if worse++; best || fall < 1 {
				worse = 0
			}
			t.result.Stopped = o.Patience > 0 && worse >= o.Patience && episode < o.Episodes
			if episode == o.Episodes || t.result.Stopped {
				break
			}
		}
		t.begun = false
		run, err := t.run(t.space, t.rng, t.explore, t.observe)
		if err != nil {
			return err
		}
		recent.add(&run)
	}
	var err error
	t.result.Fresh, err = t.greedy(t.result.Network, streamFresh)
	return err
}

// evaluate makes greedy runs with the present weights and reports. It says whether they are
// the best so far.
func (t *trainer) evaluate(episode int, recent TrainRuns) (best bool, err error) {
	n, err := t.online.network(t.scaling)
	if err != nil {
		return false, fmt.Errorf("the training diverges, try a smaller learning rate: %w", err)
	}
	r := TrainReport{Episode: episode, Steps: t.steps, Updates: t.online.updates, Epsilon: t.epsilon,
		Loss: t.loss / float64(max(t.losses, 1)), Training: recent.mean()}
	t.loss, t.losses = 0, 0
	if r.Evaluation, err = t.greedy(n, streamEvaluate); err != nil {
		return false, err
	}
	r.Best = t.result.Network == nil || r.Evaluation.better(&t.result.Best.Evaluation)
	r.Seconds = time.Since(t.began).Seconds()
	t.result.Last = r
	if r.Best {
		t.result.Best, t.result.Network = r, n
		return true, t.report(r, n)
	}
	return false, t.report(r, nil)
}

// greedy makes runs of a network as policy under test.
func (t *trainer) greedy(n *Network, stream uint64) (TrainRuns, error) {
	p, err := Bind(t.space.Model(), t.result.Interface, n.Clone())
	if err != nil {
		return TrainRuns{}, err
	}
	fork := t.space.Fork(t.ctx, p)
	return t.runs(fork, t.stream(stream), fork.Decision)
}

// runs makes the runs of an evaluation.
func (t *trainer) runs(sp *engine.Space, rng *rand.Rand, choose func(engine.StateID) (int, error)) (TrainRuns, error) {
	var sum TrainRuns
	for range t.options.EvaluateRuns {
		run, err := t.run(sp, rng, choose, func(engine.StateID, float64, engine.StateID, bool) error { return nil })
		if err != nil {
			return TrainRuns{}, err
		}
		sum.add(&run)
	}
	return sum.mean(), nil
}

// run makes one run in sp. choose returns the action in a state that has one. observe is told
// every step: where it came from, its reward, where it led, and whether the run ends there.
func (t *trainer) run(sp *engine.Space, rng *rand.Rand, choose func(engine.StateID) (int, error),
	observe func(from engine.StateID, reward float64, to engine.StateID, end bool) error) (run trainRun, err error) {
	values, err := t.start(rng)
	if err != nil {
		return run, err
	}
	s, err := sp.Intern(values)
	if err != nil {
		return run, err
	}
	end, ended, err := t.ends(sp, s)
	for factor := 1.0; err == nil && !ended; factor *= t.options.Discount {
		if run.steps == t.options.MaxSteps {
			end = endSteps
			break
		}
		if err := t.ctx.Err(); err != nil {
			return run, err
		}
		a, err := choose(s)
		if err != nil {
			return run, err
		}
		outcomes, err := sp.Outcomes(s, a)
		if err != nil {
			return run, err
		}
		to := outcomes[rng.IntN(len(outcomes))]
		if end, ended, err = t.ends(sp, to); err != nil {
			return run, err
		}
		reward := t.options.StepReward
		switch {
		case ended && end == endGoal:
			reward = t.options.GoalReward
		case ended && end == endUnsafe:
			reward = t.options.UnsafeReward
		}
		run.steps++
		run.gain += factor * reward
		if err := observe(s, reward, to, ended); err != nil {
			return run, err
		}
		s = to
	}
	run.end = end
	return run, err
}

// ends reports whether a run ends in s, and how.
func (t *trainer) ends(sp *engine.Space, s engine.StateID) (end trainEnd, ended bool, err error) {
	class, err := sp.Class(s)
	switch {
	case err != nil:
		return 0, false, err
	case class == engine.ClassUnsafe:
		return endUnsafe, true, nil
	case class == engine.ClassGoal:
		return endGoal, true, nil
	}
	n, err := sp.NumActions(s)
	return endDead, n == 0, err
}

// choices sets wanted to the outputs that are applicable in s and returns how many there are.
func (t *trainer) choices(s engine.StateID) (int, error) {
	clear(t.wanted)
	count := 0
	n, err := t.space.NumActions(s)
	for i := range n {
		if k := t.output[t.space.Action(s, i)]; k >= 0 && !t.wanted[k] {
			t.wanted[k] = true
			count++
		}
	}
	return count, err
}

// action returns the applicable action of s that an output stands for.
func (t *trainer) action(s engine.StateID, output int) int {
	for i := 0; ; i++ {
		if a := t.space.Action(s, i); a == jani.NoAction || t.output[a] == output {
			return i
		}
	}
}

// random returns an action of s: each applicable output has the same probability.
func (t *trainer) random(s engine.StateID, rng *rand.Rand) (int, error) {
	count, err := t.choices(s)
	if err != nil || count == 0 {
		return 0, err
	}
	return t.action(s, t.nth(rng.IntN(count))), nil
}

// nth returns the output that is applicable, counted from 0.
func (t *trainer) nth(n int) int {
	for k, ok := range t.wanted {
		if ok {
			if n == 0 {
				return k
			}
			n--
		}
	}
	return -1
}

// explore returns the action to learn from in s, and begins a transition.
func (t *trainer) explore(s engine.StateID) (int, error) {
	count, err := t.choices(s)
	if err != nil || count == 0 {
		return 0, err
	}
	k := 0
	if t.rng.Float64() < t.epsilon {
		k = t.nth(t.rng.IntN(count))
	} else {
		t.feed(t.online, 1, 0, s)
		k = t.best(t.online.forwardOne(), 1, 0)
	}
	t.pending, t.begun = transition{from: s, output: int32(k), factor: 1}, true
	return t.action(s, k), nil
}

// observe ends the transition that explore has begun if the network has a say in to or the
// run ends, and updates the weights now and then.
func (t *trainer) observe(_ engine.StateID, reward float64, to engine.StateID, end bool) error {
	t.steps++
	if t.begun {
		t.pending.reward += t.pending.factor * float32(reward)
		t.pending.factor *= float32(t.options.Discount)
		count := 0
		if t.pending.to = engine.NoState; !end {
			var err error
			if count, err = t.choices(to); err != nil {
				return err
			}
			t.pending.to = to
		}
		if end || count > 0 {
			t.remember(t.pending)
			t.begun = false
		}
	}
	const enough = 16 // batches of transitions before the first update
	if t.steps%int64(t.options.UpdateEvery) == 0 && len(t.replay) >= min(enough*t.options.Batch, t.options.Replay) {
		return t.update()
	}
	return nil
}

// remember stores a transition, in place of the oldest one if there is no room.
func (t *trainer) remember(x transition) {
	if len(t.replay) < t.options.Replay {
		t.replay = append(t.replay, x)
		return
	}
	t.replay[t.next] = x
	t.next = (t.next + 1) % len(t.replay)
}

// feed makes s the k-th of n states that l works on.
func (t *trainer) feed(l *learner, n, k int, s engine.StateID) {
	t.space.ReadValues(s, t.values)
	m := t.space.Model()
	for i, v := range t.inputs {
		l.values[0][i*n+k] = float32(t.scaling.input(i, m.Vars[v].Float(t.values[v])))
	}
}

// best returns the output with the highest value for the k-th of n states among those that
// are wanted, ties going to the lowest, as in a Decision.
func (t *trainer) best(q []float32, n, k int) int {
	best := -1
	for o, ok := range t.wanted {
		if ok && (best < 0 || q[o*n+k] > q[best*n+k]) {
			best = o
		}
	}
	return best
}

// update draws a batch and moves the weights towards what it says.
func (t *trainer) update() error {
	n := t.options.Batch
	for i := range t.drawn {
		t.drawn[i] = t.replay[t.rng.IntN(len(t.replay))]
		if to := t.drawn[i].to; to != engine.NoState {
			t.feed(t.online, n, i, to)
		} // else the values of an earlier state stay, and nobody looks at the result
	}
	copy(t.target.values[0], t.online.values[0])
	chosen, valued := t.online.forward(n), t.target.forward(n)
	for i, x := range t.drawn {
		t.later[i] = 0
		if x.to == engine.NoState {
			continue
		}
		if _, err := t.choices(x.to); err != nil {
			return err
		}
		t.later[i] = valued[t.best(chosen, n, i)*n+i]
	}
	for i, x := range t.drawn {
		t.feed(t.online, n, i, x.from)
	}
	q := t.online.forward(n)
	slope := t.online.errors[len(t.online.layers)]
	clear(slope)
	for i, x := range t.drawn {
		at := int(x.output)*n + i
		e := float64(q[at] - (x.reward + x.factor*t.later[i]))
		t.loss += huber(e)
		slope[at] = float32(min(max(e, -1), 1) / float64(n))
	}
	t.losses += n
	t.online.backward(n)
	t.online.step(t.options.LearningRate)
	if t.online.updates%t.options.TargetEvery == 0 {
		t.target.copyFrom(t.online)
	}
	return nil
}

// huber is the loss whose slope is e, cut off at ±1.
func huber(e float64) float64 {
	if e = math.Abs(e); e > 1 {
		return e - 0.5
	}
	return e * e / 2
}
