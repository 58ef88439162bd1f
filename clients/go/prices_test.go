package stint_test

import (
	"encoding/json"
	"errors"
	"os"
	"testing"

	stint "github.com/stintdb/stint/clients/go"
)

// TestPrices plays the vectors of all clients.
func TestPrices(t *testing.T) {
	type request struct {
		Model string
		Usage map[string]int64
		Cost  int64
	}
	var vectors struct {
		Prices         map[string]map[string]string
		Costs, Refused []request
		RefusedPrices  []string `json:"refused_prices"`
	}
	text, err := os.ReadFile("../vectors/prices.json")
	if err == nil {
		err = json.Unmarshal(text, &vectors)
	}
	if err != nil {
		t.Fatal(err)
	}
	prices, err := stint.NewPrices(vectors.Prices)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range vectors.Costs {
		if cost, err := prices.Cost(r.Model, r.Usage); cost != r.Cost || err != nil {
			t.Errorf("%+v: %d, %v", r, cost, err)
		}
	}
	for _, r := range vectors.Refused {
		if cost, err := prices.Cost(r.Model, r.Usage); cost != 0 || !errors.Is(err, stint.ErrInvalid) {
			t.Errorf("%+v: %d, %v", r, cost, err)
		}
	}
	for _, price := range vectors.RefusedPrices {
		if _, err := stint.NewPrices(map[string]map[string]string{"m": {"k": price}}); !errors.Is(err, stint.ErrInvalid) {
			t.Errorf("%q: %v", price, err)
		}
	}
	if len(vectors.Costs) < 10 || len(vectors.RefusedPrices) < 10 {
		t.Error("vectors are missing")
	}
}
