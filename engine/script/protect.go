package script

import lua "github.com/yuin/gopher-lua"

func protectedCall(L *lua.LState) int {
	r := runOf(L)
	if L.GetTop() == 0 {
		L.Push(lua.LFalse)
		return 1 + pushString(L, "attempt to call a boolean value")
	}
	if t, is := L.Get(1).(*lua.LTable); is && metamethod(t, "__call") == lua.LNil {
		L.Push(lua.LFalse)
		return 1 + pushString(L, "attempt to call a table value")
	}
	if err := L.PCall(L.GetTop()-1, lua.MultRet, nil); err != nil {
		value := r.survive(L, err)
		L.Push(lua.LFalse)
		if t, is := value.(*lua.LTable); is { // Redis's pcall returns the text of an error reply
			if text, is := asText(t.RawGetString("err")); is {
				return 1 + pushString(L, text)
			}
		}
		L.Push(value)
		return 2
	}
	L.Insert(lua.LTrue, 1)
	r.charge(L, L.GetTop()/slotsPerStep)
	return L.GetTop()
}

// survive returns the value of an error that the script handles.
func (r *run) survive(L *lua.LState, err error) lua.LValue {
	return r.surviveRaised(L, r.caught(err))
}

func (r *run) surviveRaised(L *lua.LState, e *raised) lua.LValue {
	if e.final || r.budget < 0 {
		if r.over == "" {
			r.over = e.String()
		}
		e.final = true
		throw(L, e)
	}
	r.charge(L, failurePrice)
	if e.traced {
		r.charge(L, tracePrice)
	}
	return e.value
}

func protectedCallWithHandler(L *lua.LState) int {
	r := runOf(L)
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
