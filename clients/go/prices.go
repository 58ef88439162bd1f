package stint

import (
	"fmt"
	"math/big"
	"regexp"
	"strings"
)

// Prices are in dollars for a million units, by model and kind of unit, such as "2.50" for the input tokens of a model.
// That is also the price of one unit in micro-dollars, in which budgets count.
type Prices struct {
	perUnit map[string]map[string]*big.Int // billionths of a micro-dollar
}

const (
	priceDecimals = 9
	maxCost       = 1_000_000_000_000 // the largest capacity of a limit
)

var priceText = regexp.MustCompile(`^[0-9]{1,6}(\.[0-9]{1,9})?$`)

// NewPrices reads prices: decimals below a million, with at most nine digits after the point.
func NewPrices(dollarsPerMillion map[string]map[string]string) (*Prices, error) {
	p := &Prices{map[string]map[string]*big.Int{}}
	for model, kinds := range dollarsPerMillion {
		p.perUnit[model] = map[string]*big.Int{}
		for kind, text := range kinds {
			if !priceText.MatchString(text) {
				return nil, fmt.Errorf("%w: the price of %q of %q must be dollars for a million units such as 2.50, got %q", ErrInvalid, kind, model, text)
			}
			whole, decimals, _ := strings.Cut(text, ".")
			p.perUnit[model][kind], _ = new(big.Int).SetString(whole+decimals+strings.Repeat("0", priceDecimals-len(decimals)), 10)
		}
	}
	return p, nil
}

// Cost is the cost of a request in micro-dollars: all its units at their prices, added up exactly and rounded up once.
// A model or kind without a price is an error, and so is a cost above a million dollars.
func (p *Prices) Cost(model string, usage map[string]int64) (microDollars int64, err error) {
	prices, known := p.perUnit[model]
	if !known {
		return 0, fmt.Errorf("%w: there are no prices of %q", ErrInvalid, model)
	}
	sum, unit := new(big.Int), big.NewInt(1_000_000_000)
	for kind, n := range usage {
		price, known := prices[kind]
		if !known || n < 0 {
			return 0, fmt.Errorf("%w: %d units of %q of %q: there must be a price, and no number below 0", ErrInvalid, n, kind, model)
		}
		sum.Add(sum, new(big.Int).Mul(price, big.NewInt(n)))
	}
	cost := sum.Add(sum, big.NewInt(unit.Int64()-1)).Div(sum, unit)
	if cost.Cmp(big.NewInt(maxCost)) > 0 {
		return 0, fmt.Errorf("%w: %v units of %q cost more than a million dollars", ErrInvalid, usage, model)
	}
	return cost.Int64(), nil
}
