package browser

import (
	"bytes"
	"cmp"
	"image"
	"image/color"
	"image/png"
	"maps"
	"slices"
	"testing"
)

// smaller reduces a picture to its 256 most frequent colours and replaces others by the nearest one. It is hardly
// visible, and the file has a third of the size.
func smaller(t *testing.T, picture []byte) []byte {
	t.Helper()
	from, err := png.Decode(bytes.NewReader(picture))
	if err != nil {
		t.Fatal(err)
	}
	times := map[color.RGBA]int{}
	at := func(x, y int) color.RGBA { return color.RGBAModel.Convert(from.At(x, y)).(color.RGBA) }
	bounds := from.Bounds()
	for y := bounds.Min.Y; y < bounds.Max.Y; y++ {
		for x := bounds.Min.X; x < bounds.Max.X; x++ {
			times[at(x, y)]++
		}
	}
	most := slices.SortedFunc(maps.Keys(times), func(a, b color.RGBA) int {
		return cmp.Or(cmp.Compare(times[b], times[a]), cmp.Compare(a.R, b.R), cmp.Compare(a.G, b.G), cmp.Compare(a.B, b.B))
	})
	var palette color.Palette
	for _, c := range most[:min(len(most), 256)] {
		palette = append(palette, c)
	}
	nearest := map[color.RGBA]uint8{}
	for _, c := range most {
		nearest[c] = uint8(palette.Index(c))
	}
	to := image.NewPaletted(bounds, palette)
	for y := bounds.Min.Y; y < bounds.Max.Y; y++ {
		for x := bounds.Min.X; x < bounds.Max.X; x++ {
			to.SetColorIndex(x, y, nearest[at(x, y)])
		}
	}
	var out bytes.Buffer
	encoder := png.Encoder{CompressionLevel: png.BestCompression}
	if err := encoder.Encode(&out, to); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}
