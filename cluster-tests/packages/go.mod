module github.com/jeton-dev/jeton/cluster-tests/packages

go 1.26.0
