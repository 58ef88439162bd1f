package interpreter

import lua "github.com/yuin/gopher-lua"

func protectedCall(L *lua.LState) int {
	r := Of(L)
	if L.GetTop() == 0 {
		L.Push(lua.LFalse)
		return 1 + PushString(L, "attempt to call a boolean value")
	}
	if t, is := L.Get(1).(*lua.LTable); is && metamethod(t, "__call") == lua.LNil {
		L.Push(lua.LFalse)
		return 1 + PushString(L, "attempt to call a table value")
	}
	if err := L.PCall(L.GetTop()-1, lua.MultRet, nil); err != nil {
		value := r.survive(L, err)
		L.Push(lua.LFalse)
		if t, is := value.(*lua.LTable); is { // Redis's pcall returns the text of an error reply
			if text, is := AsText(t.RawGetString("err")); is {
				return 1 + PushString(L, text)
			}
		}
		L.Push(value)
		return 2
	}
	L.Insert(lua.LTrue, 1)
	r.Charge(L, L.GetTop()/SlotsPerStep)
	return L.GetTop()
}

// survive returns the value of an error that the script handles.
func (r *Run) survive(L *lua.LState, err error) lua.LValue {
	return r.surviveRaised(L, r.Caught(err))
}

func (r *Run) surviveRaised(L *lua.LState, e *Raised) lua.LValue {
	if e.final || r.budget < 0 {
		if r.over == "" {
			r.over = e.String()
		}
		e.final = true
		throw(L, e)
	}
	r.Charge(L, failurePrice)
	if e.traced {
		r.Charge(L, tracePrice)
	}
	return e.value
}

func protectedCallWithHandler(L *lua.LState) int {
	r := Of(L)
	handler := r.checkAny(L, 2)
	L.SetTop(1)
	err := L.PCall(0, lua.MultRet, nil)
	if err == nil {
		L.Insert(lua.LTrue, 1)
		return L.GetTop()
	}
	value := r.survive(L, err)
	L.Push(handler)
	L.Push(value)
	if err := L.PCall(1, 1, nil); err != nil {
		value = r.survive(L, err)
	} else {
		value = L.Get(-1)
	}
	L.Push(lua.LFalse)
	L.Push(value)
	return 2
}
