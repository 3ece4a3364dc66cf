#include <skeindb.hpp>
#include <iostream>

int main() {
    auto db = skein::Db::open("users-data");
    auto users = db.keyspace("users"), by_city = db.keyspace("by_city");
    db.transaction([&] (skein::Transaction &tx) {
        tx.put(users, "u1", "Ada");
        tx.put(by_city, "London/u1", "");
    });
    auto cursor = by_city.cursor();
    for (auto [key, value] : cursor.prefix("London/")) std::cout << key << "\n";
    db.close();
}
