package testspec

// This model is a cluster that begins with a copy of a server's state. The server is a region, too: it has tokens that
// another cluster, home, has lent to it.
//
// The server grants two tokens of its own limit, or lends one of them to a node, which spends it. It is copied, and a moment
// before or after that it ends, unless it is only a backup of a region that goes on. In the copy, tokens that a node
// holds count as spent, and tokens of home are left out. The first entry of the new cluster's log names the import, and the
// cluster grants nothing until it is in.
//
// Promises: the server and the cluster together grant no more than the limit; a token of home is spent once.

const copiedCapacity = 2

type copiedState struct {
	charged, held int8 // of the server's limit
	ofHome        int8 // tokens of home that the server has
	phase         copiedPhase
	nodes         int8 // tokens that a node of the server holds
	copied        struct{ charged, ofHome int8 }
	cluster       struct{ charged, ofHome int8 }
	isImported    bool
	spent         int8 // of the limit
	spentOfHome   int8
}

// copiedPhase is how far the copying has come.
type copiedPhase uint8

const (
	before  copiedPhase = iota // the server grants
	ended                      // it does not, and its nodes still hold tokens
	begun                      // the cluster has begun, with a copy
	goingOn                    // the cluster has begun, and the server goes on with tokens of home
)

// Copied returns the model of a cluster that begins with a copy.
func Copied(bug Bug) Model[copiedState] {
	m := copiedModel{bug}
	return Model[copiedState]{Start: copiedState{ofHome: 1}, Steps: m.steps, Wrong: m.wrong}
}

type copiedModel struct{ bug Bug }

func (copiedModel) wrong(s copiedState) string {
	switch {
	case s.spent > copiedCapacity:
		return "more than the limit is granted"
	case s.spentOfHome > 1:
		return "a token of home is spent twice"
	}
	return ""
}

func (m copiedModel) steps(s copiedState, next *Steps[copiedState]) {
	m.serve(s, next)
	m.begin(s, next)
	if s.phase < begun {
		return
	}
	if to := s; mayGrant(s.isImported, m.bug != GrantsBeforeImport) && s.cluster.charged < copiedCapacity {
		to.cluster.charged++
		to.spent++
		next.Step(to, "the cluster grants a token")
	}
	if to := s; s.cluster.ofHome > 0 {
		to.cluster.ofHome--
		to.spentOfHome++
		next.Step(to, "the cluster grants a token of home")
	}
	if to := s; !s.isImported {
		to.isImported, to.cluster = true, s.copied
		next.Step(to, "the import is in, with %d charged", s.copied.charged)
	}
}

// mayGrant reports whether a cluster may grant requests. It is a rule for traces of clusters, too.
func mayGrant(isImported, awaitsImport bool) bool { return isImported || !awaitsImport }

// serve grants requests at the server.
func (m copiedModel) serve(s copiedState, next *Steps[copiedState]) {
	if to := s; s.phase == before && s.charged+s.held < copiedCapacity {
		to.charged++
		to.spent++
		next.Step(to, "the server grants a token")
		to = s
		to.held++
		to.nodes++
		next.Step(to, "the server lends a token to a node")
	}
	if to := s; s.phase <= ended && s.nodes > 0 {
		to.nodes--
		to.spent++
		next.Step(to, "the node grants a token")
	}
	if to := s; (s.phase == before || s.phase == goingOn) && s.ofHome > 0 {
		to.ofHome--
		to.spentOfHome++
		next.Step(to, "the server grants a token of home")
	}
}

// begin ends the server and begins the cluster.
func (m copiedModel) begin(s copiedState, next *Steps[copiedState]) {
	if to := s; s.phase == before {
		to.phase = ended
		next.Step(to, "the server ends, its node not yet")
	}
	if s.phase != ended {
		return
	}
	to := s
	to.nodes = 0
	to.copied.charged = s.charged + s.held
	if m.bug == LentInCopyIsFree {
		to.copied.charged = s.charged
	}
	if m.bug == PursesAreCopied {
		to.copied.ofHome = s.ofHome
	}
	to.phase = begun
	next.Step(to, "the cluster begins with the copy")
	to.phase = goingOn
	next.Step(to, "the cluster begins with the copy, and the server goes on as a region")
}
