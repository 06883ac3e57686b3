module example.com/outline

go 1.19
