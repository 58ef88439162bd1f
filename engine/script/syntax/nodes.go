package syntax

import "github.com/stintdb/stint/engine/script/value"

// Expr is an expression: one of the types below that say so.
type Expr any

// Stmt is a statement: one of the types below that say so.
type Stmt any

// Operators. Text that the source has is text in the tree, such as "+" or "<=".

// Constant is an expression: nil, a boolean, a number, or a text.
type Constant struct{ Value value.Value }

// Local is a local variable.
type Local struct {
	Slot     int  // in its function
	Captured bool // a function inside refers to it
	Changed  bool // it is assigned to after its declaration, or refers to itself

	name   string
	number bool // holds a number always
	at     int  // position in the source
	of     *function
}

// Variable is an expression: a local of this function or of one around it.
type Variable struct{ Local *Local }

// Builtin is an expression: a value of the libraries, by its name in parentheses, as "(redis.call)".
type Builtin struct{ Name string }

// Arguments is an expression: the table KEYS or ARGV.
type Arguments struct{ IsArgv bool }

// Missing is an expression: a global that does not exist.
type Missing struct {
	Name string
	Node int
}

// Index is an expression: object[key].
type Index struct {
	Object, Key Expr
	Node        int
	Charged     bool // for a text as the key, whose length is not known here
}

// Call is an expression: f(args), or object:method(args).
type Call struct {
	Func     Expr
	Method   string // "" for a function
	Args     []Expr
	Node     int
	IsSingle bool // all but the first result are dropped
}

// Counted is an expression: all results of a call, whose number is charged.
type Counted struct{ Of Expr }

// Varargs is an expression: the further arguments of a function.
type Varargs struct {
	IsSingle bool
	None     bool // a script has no arguments
}

// Function is an expression: a function's text.
type Function struct {
	Parameters []*Local
	IsVariadic bool
	Arg        *Local // of a variadic function: the table of its further arguments, nil if they are used as "..."
	UsesDots   bool
	Slots      int // for the locals
	Body       []Stmt
}

// Table is an expression: a constructor, whose fields are in the order of the source.
type Table struct{ Fields []Field }

// Field is an item of a constructor, or a field if it has a key.
type Field struct {
	Key, Value Expr
	Node       int  // of a key that may be refused
	IsPlain    bool // the key is a text in the source
}

// Unary is an expression: not, #, or -.
type Unary struct {
	Op   string
	Of   Expr
	Node int
}

// Logical is an expression: and, or.
type Logical struct {
	IsAnd       bool
	Left, Right Expr
}

// Binary is an expression with an operator of two values.
type Binary struct {
	Op          string
	Left, Right Expr
	Node        int
	IsPlain     bool // a comparison with a number or a constant
}

// Concat is an expression: a .. b .. c.
type Concat struct {
	Parts []Expr
	Node  int
}

// Charge is a statement: steps of the budget, on the way into a block.
type Charge struct{ Steps, Node int }

// Declare is a statement: local names = values.
type Declare struct {
	Locals []*Local
	Values []Expr
}

// Assign is a statement: one assignment to a Variable or an Index.
type Assign struct {
	Target  Expr
	Value   Expr
	IsPlain bool // a field whose value is not nil
}

// SetGlobal is a statement: an assignment to a global, which fails.
type SetGlobal struct {
	Value Expr
	Node  int
}

// Perform is a statement: a call.
type Perform struct{ Call Expr }

// Block is a statement: do end.
type Block struct{ Body []Stmt }

// While is a statement. The condition is true before each round of the body.
type While struct {
	Condition Expr
	Body      []Stmt
}

// Repeat is a statement. The condition, which sees the body's locals, ends it after a round.
type Repeat struct {
	Body      []Stmt
	Condition Expr
}

// If is a statement.
type If struct {
	Condition  Expr
	Then, Else []Stmt
}

// NumericFor is a statement. Bounds are numbers, or refused at Node.
type NumericFor struct {
	Variable           *Local
	First, Limit, Step Expr // Step may be nil
	Body               []Stmt
	Node               int
}

// GenericFor is a statement.
type GenericFor struct {
	Locals []*Local
	Values []Expr
	Body   []Stmt
	Node   int
}

// Return is a statement.
type Return struct{ Values []Expr }

// Break is a statement.
type Break struct{}
