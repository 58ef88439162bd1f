module github.com/stintdb/stint

go 1.26
