// The program of `docs/comparison.md` with RocksDB.

#include <rocksdb/utilities/transaction_db.h>

#include <iostream>
#include <memory>
#include <stdexcept>

using namespace rocksdb;

static void check(const Status &status) {
    if (!status.ok()) throw std::runtime_error(status.ToString());
}

// Adds two users and their places in an index, and returns the index's keys for London.
static std::vector<std::string> run(const std::string &path) {
    DBOptions options;
    options.create_if_missing = options.create_missing_column_families = true;
    std::vector<ColumnFamilyDescriptor> families{{kDefaultColumnFamilyName, {}}, {"users", {}}, {"by_city", {}}};
    std::vector<ColumnFamilyHandle *> handles;
    TransactionDB *opened;
    check(TransactionDB::Open(options, TransactionDBOptions(), path, families, &handles, &opened));
    std::unique_ptr<TransactionDB> db(opened);
    std::unique_ptr<ColumnFamilyHandle> standard(handles[0]), users(handles[1]), by_city(handles[2]);
    WriteOptions durable;
    durable.sync = true;
    std::unique_ptr<Transaction> tx(db->BeginTransaction(durable));
    check(tx->Put(users.get(), "u1", "Ada"));
    check(tx->Put(users.get(), "u2", "Alan"));
    check(tx->Put(by_city.get(), "London/u1", ""));
    check(tx->Put(by_city.get(), "London/u2", ""));
    check(tx->Commit());
    std::string name;
    check(db->Get(ReadOptions(), users.get(), "u1", &name));
    if (name != "Ada") throw std::runtime_error("u1 is " + name);
    std::vector<std::string> keys;
    std::unique_ptr<Iterator> row(db->NewIterator(ReadOptions(), by_city.get()));
    for (row->Seek("London/"); row->Valid() && row->key().compare("London0") < 0; row->Next())
        keys.push_back(row->key().ToString());
    check(row->status());
    return keys;
}

int main(int count, char **arguments) {
    for (const auto &key : run(count > 1 ? arguments[1] : "geese-rocksdb")) std::cout << key << "\n";
}
