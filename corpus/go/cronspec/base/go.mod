module github.com/harborline/cronspec

go 1.19
