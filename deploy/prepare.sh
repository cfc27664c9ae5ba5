# For compose.yaml: two made-up shops, each with a table, an identity and the other's card. Real parties do this on two
# machines, and compare fingerprints by phone.
set -eu
cd /shared
[ -f agreement.toml ] && exit 0
accord generate products --records 500 --force
for shop in north south; do
    accord --state /$shop/accord identity --name $shop-shop --force
    accord --state /$shop/accord ledger budget products --epsilon 5 --delta 1e-9
done
accord --state /north/accord partner add south-shop south-shop.card
accord --state /south/accord partner add north-shop north-shop.card
accord init --template products
